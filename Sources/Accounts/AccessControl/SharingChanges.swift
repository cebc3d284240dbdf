import DocumentModel
import DocumentStore
import Synchronization

/// Counts the changes of lists, of their tasks and of their participants, so that cached data is
/// known to be out of date.
///
/// A change is counted before it is stored and again afterwards, because a read in between may see
/// either state. Lists and users share counters, so a count may also rise because of a change
/// elsewhere.
final class SharingChanges: Sendable {
    private static let size = 1 << 12
    private let counts = Mutex([UInt64](repeating: 0, count: size))

    func count(ofList list: String) -> UInt64 { counts.withLock { $0[Self.index("list", list)] } }

    /// Returns the count of the tasks that a user owns, and of the history below them.
    func count(ofOwner user: String) -> UInt64 { counts.withLock { $0[Self.index("owner", user)] } }

    func count(ofUser user: String) -> UInt64 { counts.withLock { $0[Self.index("user", user)] } }

    /// Returns the changes of a proposed commit, for `note`.
    ///
    /// - Parameter root: Returns the top-level document above another one.
    static func changes(
        in changes: [ProposedChange], root: (DocumentName) throws -> Document?
    ) rethrows -> Set<Int> {
        var found: Set<Int> = []
        for change in changes {
            let name = change.write.name
            let documents = [change.before, change.after].compactMap { $0 }
            switch name.collectionPath {
            case "tasks":
                for task in documents { found.formUnion(indexes(ofTask: task)) }
            case "lists":
                found.insert(index("list", name.id))
                for list in documents {
                    found.formUnion(SharedList(list)?.participants.map { index("user", $0) } ?? [])
                }
            default:
                guard name.collectionID == "history", let task = try root(name) else { break }
                found.formUnion(indexes(ofTask: task))
            }
        }
        return found
    }

    private static func indexes(ofTask task: Document) -> [Int] {
        [("list", "listId"), ("owner", "userId")].compactMap { kind, field in
            task[field]?.stringValue.map { index(kind, $0) }
        }
    }

    func note(_ changes: Set<Int>) {
        guard !changes.isEmpty else { return }
        counts.withLock { counts in
            for index in changes where counts.indices.contains(index) { counts[index] &+= 1 }
        }
    }

    private static func index(_ kind: String, _ id: String) -> Int {
        var hasher = Hasher()
        hasher.combine(kind)
        hasher.combine(id)
        return Int(UInt(bitPattern: hasher.finalize()) % UInt(size))
    }
}

/// A list and its participants.
struct SharedList: Sendable, Hashable {
    let id: String
    let owner: String
    /// The owner and the members.
    let participants: Set<String>

    /// Returns nil for a list without an owner.
    init?(_ list: Document) {
        guard let owner = list["userId"]?.stringValue else { return nil }
        id = list.name.id
        self.owner = owner
        participants = Set((list["sharedWith"]?.arrayValue ?? []).compactMap(\.stringValue)).union([owner])
    }
}

extension Document {
    fileprivate subscript(key: String) -> Value? { fields[key] }
}
