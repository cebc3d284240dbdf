package import DocumentModel

/// The rules for reading and writing documents. They are pure: the documents that a decision needs
/// are requested through `Lookup`.
///
/// A top-level document belongs to the user in its `userId`, and everything below it belongs to the
/// same user. Users read and write documents that belong to them, and query only for those.
///
/// A list may be shared: the users in its `sharedWith` read and write the tasks that are in it (by
/// `listId`) and belong to its owner, and everything below those tasks. They may also change the
/// list itself, but not its owner, the names of others, or its members, except that each may leave
/// it. Users become members only by adding themselves while an invitation from the owner exists;
/// the owner can only remove members. See `Invitation`.
///
/// An id of a list, task, device, block or invitation that contains a dot is in the namespace of
/// the user whose id precedes the dot: no other user may create it, or learn whether it exists.
package struct BuiltInRules: Sendable {
    /// Returns a document as it is before a commit, or, for a top-level document that the commit
    /// creates above another one, as the commit makes it.
    ///
    /// It is called with the top-level document above another one, and with the names that `lists`
    /// and `names(deciding:before:after:for:)` return.
    package typealias Lookup = (DocumentName) throws -> Document?

    static let owner = FieldPath(key: "userId")
    private static let list = FieldPath(key: "listId")
    private static let members = FieldPath(key: "sharedWith")
    /// The collections whose documents belong to lists.
    private static let listed = ["tasks", "history"]

    package init() {}

    // MARK: Documents

    /// Whether `document`, read by its name, may be shown; nil stands for a document that does not
    /// exist.
    ///
    /// Outside of another user's namespace it is no secret that a top-level name is unused, because
    /// ids cannot be guessed.
    package func allowsRead(
        of name: DocumentName, _ document: Document?, by requester: Requester, lookup: Lookup
    ) throws -> Bool {
        guard case .user(let user) = requester else { return requester == .administrator }
        guard let root = name.root else {
            return try document.map { try Self.isOpen($0, to: user, lookup) } ?? Self.mayKnowAbsence(of: name, user)
        }
        return try lookup(root).map { try Self.isOpen($0, to: user, lookup) } ?? false
    }

    /// Whether a change from `before` to `after` is allowed; nil stands for no document.
    ///
    /// - Parameter address: The requester's e-mail address; nil for an account without one, which
    ///   may not invite.
    package func allowsWrite(
        to name: DocumentName, before: Document?, after: Document?, by requester: Requester, address: String? = nil,
        lookup: Lookup
    ) throws -> Bool {
        guard case .user(let user) = requester else { return requester == .administrator }
        if let rootName = name.root {
            guard let root = try lookup(rootName) else {
                // A version that a merge replaced stays its owner's, even if its document was
                // deleted meanwhile.
                return Self.mayKnowAbsence(of: rootName, user)
                    && [before, after].allSatisfy { $0.map { Self.owns(user, $0) } ?? true }
            }
            guard try Self.isOpen(root, to: user, lookup) else { return false }
            return after.map { Self.isTruthful($0, below: root, user) } ?? true
        }
        if before == nil, !Self.mayKnowAbsence(of: name, user) { return false }
        switch name.collectionPath {
        case Invitation.collection:
            return try Self.allowsInvitation(name, from: before, to: after, by: user, address, lookup)
        case "lists":
            if let before, let after, !Self.owns(user, before) {
                return try Self.isMembersChange(from: before, to: after, user)
                    || Self.isJoin(from: before, to: after, user, lookup)
            }
            return [before, after].allSatisfy { $0.map { Self.owns(user, $0) } ?? true }
                && Self.addsNoMember(from: before, to: after)
        case "tasks": break
        default: return [before, after].allSatisfy { $0.map { Self.owns(user, $0) } ?? true }
        }
        return try [before, after].allSatisfy { try $0.map { try Self.isOpen($0, to: user, lookup) } ?? true }
    }

    static func owns(_ user: String, _ document: Document) -> Bool {
        document[owner] == .string(user)
    }

    private static func isOpen(_ document: Document, to user: String, _ lookup: Lookup) throws -> Bool {
        if owns(user, document) { return true }
        switch document.name.collectionPath {
        case "lists": return isMember(user, of: document)
        case Invitation.collection: return Invitation.isParty(user, to: document)
        case "tasks":
            guard let name = listName(of: document), let list = try lookup(name) else { return false }
            // The list must belong to the document's owner, so that users cannot put tasks of
            // others into a list.
            return list[owner] == document[owner] && isMember(user, of: list)
        default: return false
        }
    }

    static func isMember(_ user: String, of list: Document) -> Bool {
        list[members]?.arrayValue?.contains(.string(user)) == true
    }

    /// Whether a change adds no members. Users join a list only by adding themselves.
    private static func addsNoMember(from before: Document?, to after: Document?) -> Bool {
        let old = before?[members]?.arrayValue ?? []
        return (after?[members]?.arrayValue ?? []).allSatisfy(old.contains)
    }

    /// Whether the change only adds an invited user and the user's own name in the list.
    private static func isJoin(
        from before: Document, to after: Document, _ user: String, _ lookup: Lookup
    ) throws -> Bool {
        guard let host = before[owner]?.stringValue, !isMember(user, of: before),
            let name = Invitation.name(from: host, to: user, list: before.name),
            let invitation = try lookup(name), Invitation.isValid(invitation, from: host, to: user, before.name)
        else { return false }
        let joined = (before[members]?.arrayValue ?? []) + [.string(user)]
        guard after[members] == .array(joined) else { return false }
        func others(_ list: Document) -> [String: Value] {
            list.fields.filter { !["sharedWith", "names"].contains($0.key) }
        }
        return others(before) == others(after) && otherNames(before, user) == otherNames(after, user)
    }

    /// Returns the names of the other members in a list.
    private static func otherNames(_ list: Document, _ user: String) -> [String: Value] {
        (list.fields["names"]?.mapValue ?? [:]).filter { $0.key != user }
    }

    private static func isMembersChange(from before: Document, to after: Document, _ user: String) -> Bool {
        guard isMember(user, of: before), before[owner] == after[owner],
            otherNames(before, user) == otherNames(after, user)
        else { return false }
        let (old, new) = (before[members]?.arrayValue ?? [], after[members]?.arrayValue ?? [])
        return new == old || new == old.filter { $0 != .string(user) }
    }

    /// Whether a document below `root` names no owner, its writer, or the owner of the root.
    ///
    /// Collection groups are queried by the owner and the list that each document names. The list
    /// needs no rule, because the store copies a task's list to every document below it, in the
    /// commit that changes either. Two machines that move one task to different lists therefore
    /// both succeed.
    private static func isTruthful(_ document: Document, below root: Document, _ user: String) -> Bool {
        let named = document[owner]
        return named == nil || named == .string(user) || named == root[owner]
    }

    // MARK: Queries

    /// Whether every possible result of the query may be shown.
    ///
    /// That is so if the query is below a document that is open to the user, or if, in one
    /// top-level collection, each alternative of its filter requires the user's `userId`, or a list
    /// shared with the user together with its owner. A query for lists may instead require the user
    /// to be a member, and one for invitations the user to be the sender or the recipient.
    package func allowsQuery(_ query: Query, by requester: Requester, lookup: Lookup) throws -> Bool {
        guard case .user(let user) = requester else { return requester == .administrator }
        if let parent = Self.document(of: query.parent) {
            return try lookup(parent.root ?? parent).map { try Self.isOpen($0, to: user, lookup) } ?? false
        }
        guard let collection = query.collectionID, !query.allDescendants, let filter = query.filter else {
            return false
        }
        return try Self.demands(filter) { parts in
            if Self.names(user, parts) { return true }
            if collection == Invitation.collection {
                return parts.contains(.field(Invitation.from, .equal, .string(user)))
                    || parts.contains(.field(Invitation.to, .equal, .string(user)))
            }
            if collection == "lists" { return parts.contains(.field(Self.members, .arrayContains, .string(user))) }
            guard Self.listed.contains(collection), let name = Self.listName(in: parts, query.parent.database),
                let list = try lookup(name), let owner = list[Self.owner]
            else { return false }
            return Self.isMember(user, of: list) && parts.contains(.field(Self.owner, .equal, owner))
        }
    }

    /// Whether the decision about the query depends on no document, so that a query that was
    /// allowed once stays allowed.
    package func isForEver(_ query: Query, by requester: Requester) throws -> Bool {
        try allowsQuery(query, by: requester) { _ in nil }
    }

    /// Whether all documents of a collection, or the ids of collections, below `parent` may be
    /// listed.
    package func allowsListing(below parent: ParentName, by requester: Requester, lookup: Lookup) throws -> Bool {
        guard case .user(let user) = requester else { return requester == .administrator }
        guard let document = Self.document(of: parent) else { return false }
        return try lookup(document.root ?? document).map { try Self.isOpen($0, to: user, lookup) } ?? false
    }

    /// Whether each alternative of a filter passes `test`, which receives all conditions of the
    /// alternative.
    private static func demands(
        _ filter: Query.Filter, with others: [Query.Filter] = [], _ test: ([Query.Filter]) throws -> Bool
    ) rethrows -> Bool {
        guard case .and(let parts) = filter else {
            guard case .or(let parts) = filter else { return try test([filter] + others) }
            return try !parts.isEmpty && parts.allSatisfy { try demands($0, with: others, test) }
        }
        if try test(parts + others) { return true }
        return try parts.contains { part in
            guard case .or = part else { return try demands(part, with: others, test) }
            return try demands(part, with: parts.filter { $0 != part } + others, test)
        }
    }

    private static func names(_ user: String, _ parts: [Query.Filter]) -> Bool {
        parts.contains(.field(owner, .equal, .string(user)))
            || parts.contains(.field(owner, .in, .array([.string(user)])))
    }

    // MARK: What decisions need

    /// Returns the lists that decide whether these documents are open to the requester; none if
    /// ownership decides.
    package func lists(deciding documents: [Document], for requester: Requester) -> [DocumentName] {
        guard case .user(let user) = requester else { return [] }
        return documents.compactMap { Self.owns(user, $0) ? nil : Self.listName(of: $0) }
    }

    /// Returns the other documents that decide whether a change of a top-level document is allowed.
    package func names(
        deciding name: DocumentName, before: Document?, after: Document?, for requester: Requester
    ) -> [DocumentName] {
        guard case .user(let user) = requester else { return [] }
        switch name.collectionPath {
        case Invitation.collection: return after.map(Invitation.names(deciding:)) ?? []
        case "lists":
            guard let before, let host = before[Self.owner]?.stringValue, host != user else { return [] }
            return Invitation.name(from: host, to: user, list: name).map { [$0] } ?? []
        default: return lists(deciding: [before, after].compactMap { $0 }, for: requester)
        }
    }

    /// Returns the lists that a query asks for.
    package func lists(deciding query: Query) -> [DocumentName] {
        guard query.parent.path.isEmpty, let filter = query.filter else { return [] }
        return Self.lists(in: filter, query.parent.database)
    }

    private static func lists(in filter: Query.Filter, _ database: DatabaseName) -> [DocumentName] {
        switch filter {
        case .and(let parts), .or(let parts): parts.flatMap { lists(in: $0, database) }
        case .field, .unary: listName(in: [filter], database).map { [$0] } ?? []
        }
    }

    private static func listName(in parts: [Query.Filter], _ database: DatabaseName) -> DocumentName? {
        for case .field(list, .equal, .string(let id)) in parts {
            return try? DocumentName(database: database, collection: "lists", id: id)
        }
        return nil
    }

    private static func listName(of document: Document) -> DocumentName? {
        guard document.name.collectionPath == "tasks", let id = document[list]?.stringValue else { return nil }
        return try? DocumentName(database: document.name.database, collection: "lists", id: id)
    }

    private static func document(of parent: ParentName) -> DocumentName? {
        parent.path.isEmpty ? nil : try? DocumentName(database: parent.database, path: parent.path)
    }
}
