import DocumentClient
import Reconciliation
import TaskFolder
import TaskModel

/// Which directory is which list.
struct ListIndex {
    private(set) var paths: [String: TaskPath] = [:]
    private var ids: [TaskPath: String] = [:]

    /// The list of a directory; nil for the root and unknown ones.
    func id(_ path: TaskPath) -> String? { ids[path] }

    func path(_ list: String) -> TaskPath? { paths[list] }

    mutating func set(_ list: String, _ path: TaskPath) {
        remove(list)
        if let other = ids[path] { paths[other] = nil }
        paths[list] = path
        ids[path] = list
    }

    mutating func remove(_ list: String) {
        if let path = paths.removeValue(forKey: list) { ids[path] = nil }
    }

    /// The ids that a list of this name gets on whichever machine makes it first, so that two
    /// machines that make it apart make one list: the first one that no list of another name has.
    ///
    /// They begin with the user's id and a dot: the server lets nobody else make documents with such ids.
    static func ids(named name: String, of userID: UserID) -> [String] {
        formerIDs(named: name, of: userID).map { "\(userID).\($0)" }
    }

    /// The ids that lists of this name got before: others could make them first. Lists that have them keep them.
    static func formerIDs(named name: String, of userID: UserID) -> [String] {
        (1...9).map { number in
            DocumentID.derived(from: "ferry list\n\(userID)\n\(number == 1 ? name : "\(name)\n\(number)")")
        }
    }

    /// Whether a user may make a list with this id: not with one that begins with another user's id.
    static func mayMake(_ list: String, _ userID: UserID) -> Bool {
        !list.utf8.contains(UInt8(ascii: ".")) || list.utf8.starts(with: "\(userID).".utf8)
    }

    /// The directory for a list's name, which may have several levels and comes from anywhere.
    ///
    /// - Parameter first: the number to begin with: 1 is the name itself.
    static func directory(named name: String, from first: Int = 1, isTaken: (TaskPath) throws -> Bool) throws
        -> TaskPath
    {
        let parts = name.split(separator: "/").map(String.init)
        var path = TaskPath.root
        for part in parts.dropLast() { path = try path.appending(NodeName.directory(for: part, number: 1)) }
        for number in NameAllocator.numbers(from: first) {
            let found = try path.appending(NodeName.directory(for: parts.last ?? "", number: number))
            if try !isTaken(found) { return found }
        }
        throw FolderError(.exists, "there is no free name for another list '\(name)'; rename some of them")
    }

    /// Whether a list's directory can have the list's name, byte for byte.
    static func isExact(_ name: String) -> Bool {
        (try? directory(named: name) { _ in false })?.string.utf8.elementsEqual(name.utf8) ?? false
    }
}
