import DocumentModel

/// The results of a query as this replica saw them at one moment, and how they differ from those handed out before.
public struct QuerySnapshot: Sendable {
    /// In the query's order.
    public let documents: [DocumentSnapshot]
    /// Removed documents first.
    public let changes: [QueryChange]
    /// Whether the remote may have newer results.
    public let isFromCache: Bool

    public var hasPendingWrites: Bool { documents.contains(where: \.hasPendingWrites) }
}

/// One difference between two results of a query, as list views want it.
public struct QueryChange: Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        case added
        case modified
        case removed
    }

    public let kind: Kind
    /// As it is now; of a removed one, as it was.
    public let document: DocumentSnapshot
    /// The place in the results before; nil if added.
    public let oldIndex: Int?
    /// The place in the results now; nil if removed.
    public let newIndex: Int?
}

extension QueryChange {
    /// What makes `new` of `old`.
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
