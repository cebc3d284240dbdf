package import DocumentModel

/// Who may read and write which documents. Pure: documents that a decision needs are asked for.
///
/// A top-level document belongs to the user in its `userId`; what lies below it belongs to the same user. Users read and
/// write what belongs to them, and query only for that. This type is where sharing (`sharedWith`) and rules of the
/// database's own will be decided.
package struct SecurityRules: Sendable {
    /// Gives the document as it is before a commit, or, where it does not exist before, as the commit makes it; nil
    /// where there is neither.
    package typealias Lookup = (DocumentName) throws -> Document?

    private static let owner = FieldPath(key: "userId")

    package init() {}

    /// Whether `document`, read by its name, may be shown; nil stands for one that does not exist. That a top-level
    /// name is free is no secret, as ids cannot be guessed.
    package func allowsRead(
        of name: DocumentName, _ document: Document?, by requester: Requester, lookup: Lookup
    ) throws -> Bool {
        guard case .user(let user) = requester else { return requester == .administrator }
        guard let root = Self.root(of: name) else { return document.map { Self.owns(user, $0) } ?? true }
        return try lookup(root).map { Self.owns(user, $0) } ?? false
    }

    /// Whether a change from `before` to `after` may be made; nil stands for no document.
    package func allowsWrite(
        to name: DocumentName, before: Document?, after: Document?, by requester: Requester, lookup: Lookup
    ) throws -> Bool {
        guard case .user(let user) = requester else { return requester == .administrator }
        if let root = Self.root(of: name) { return try lookup(root).map { Self.owns(user, $0) } ?? false }
        return [before, after].allSatisfy { $0.map { Self.owns(user, $0) } ?? true }
    }

    /// Whether every result that the query can have may be shown: it looks below a document of the user's own, or
    /// each alternative of its filter demands the user's `userId` in one top-level collection.
    package func allowsQuery(_ query: Query, by requester: Requester, lookup: Lookup) throws -> Bool {
        guard case .user(let user) = requester else { return requester == .administrator }
        if let parent = Self.document(of: query.parent) {
            return try lookup(Self.root(of: parent) ?? parent).map { Self.owns(user, $0) } ?? false
        }
        guard query.collectionID != nil, !query.allDescendants, let filter = query.filter else { return false }
        return Self.demands(user, filter)
    }

    /// Whether all documents of a collection, or the ids of collections below `parent`, may be listed.
    package func allowsListing(below parent: ParentName, by requester: Requester, lookup: Lookup) throws -> Bool {
        guard case .user(let user) = requester else { return requester == .administrator }
        guard let document = Self.document(of: parent) else { return false }
        return try lookup(Self.root(of: document) ?? document).map { Self.owns(user, $0) } ?? false
    }

    private static func owns(_ user: String, _ document: Document) -> Bool {
        document[owner] == .string(user)
    }

    private static func demands(_ user: String, _ filter: Query.Filter) -> Bool {
        switch filter {
        case .and(let parts): parts.contains { demands(user, $0) }
        case .or(let parts): !parts.isEmpty && parts.allSatisfy { demands(user, $0) }
        case .field(owner, .equal, .string(user)): true
        case .field(owner, .in, .array([.string(user)])): true
        case .field, .unary: false
        }
    }

    /// The top-level document above this one; nil for a top-level document.
    private static func root(of name: DocumentName) -> DocumentName? {
        guard var root = name.parent else { return nil }
        while let parent = root.parent { root = parent }
        return root
    }

    private static func document(of parent: ParentName) -> DocumentName? {
        parent.path.isEmpty ? nil : try? DocumentName(database: parent.database, path: parent.path)
    }
}
