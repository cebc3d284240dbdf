import DocumentModel

/// The results of a query as this replica saw them at one time, and their differences from the
/// previously delivered results.
public struct QuerySnapshot: Sendable {
    /// The results in the query's order.
    public let documents: [DocumentSnapshot]
    /// The differences from the previous snapshot, removed documents first.
    public let changes: [QueryChange]
    /// Whether the remote may have newer results.
    public let isFromCache: Bool

    init(documents: [DocumentSnapshot], changes: [QueryChange], isFromCache: Bool) {
        self.documents = documents
        self.changes = changes
        self.isFromCache = isFromCache
    }

    /// Whether a document contains changes that the remote has not committed yet.
    public var hasPendingWrites: Bool { documents.contains(where: \.hasPendingWrites) }
}

/// One difference between two results of a query, in the form that list views need.
public struct QueryChange: Sendable, Hashable {
    /// The kinds of difference.
    public enum Kind: Sendable, Hashable {
        case added
        case modified
        case removed
    }

    /// The kind of difference.
    public let kind: Kind
    /// The document as it is now; for a removed one, as it was.
    public let document: DocumentSnapshot
    /// The position in the previous results; nil if added.
    public let oldIndex: Int?
    /// The position in the present results; nil if removed.
    public let newIndex: Int?
}

extension QueryChange {
    /// Returns the differences that turn `old` into `new`.
    static func between(_ old: [DocumentSnapshot], _ new: [DocumentSnapshot]) -> [QueryChange] {
        let wasAt = Dictionary(old.enumerated().map { ($1.name.path, $0) }, uniquingKeysWith: { first, _ in first })
        let stays = Set(new.map(\.name.path))
        var changes = old.enumerated().filter { !stays.contains($1.name.path) }.map {
            QueryChange(kind: .removed, document: $1, oldIndex: $0, newIndex: nil)
        }
        for (index, document) in new.enumerated() {
            guard let before = wasAt[document.name.path] else {
                changes.append(QueryChange(kind: .added, document: document, oldIndex: nil, newIndex: index))
                continue
            }
            if old[before] == document { continue }
            changes.append(QueryChange(kind: .modified, document: document, oldIndex: before, newIndex: index))
        }
        return changes
    }
}
