import DocumentModel
import DocumentStore
import FirestoreProtocol
import Identity

/// Applies the rules to calls. Refusals are `DocumentStoreError.permissionDenied`.
struct DocumentAccess: Sendable {
    let rules = SecurityRules()

    private static let owner = FieldPath(key: "userId")

    /// Inside a commit's transaction.
    func check(_ commit: borrowing ProposedCommit, by caller: Caller) throws {
        for change in commit.changes {
            // A closure cannot hold on to the commit, so what the rules may ask for is got ahead.
            let root = change.write.name.root
            let rootDocument = try root.map { try commit.get($0) ?? commit.getAfter($0) } ?? nil
            let allowed = try rules.allowsWrite(
                to: change.write.name, before: change.before, after: change.after, by: caller.requester
            ) { $0 == root ? rootDocument : nil }
            guard allowed, isTruthful(change, caller) else { throw DocumentStoreError.permissionDenied }
        }
    }

    /// What lies below a document belongs to its owner, yet collection groups are searched by the `userId` of what they find: it
    /// must not name somebody else.
    private func isTruthful(_ change: ProposedChange, _ caller: Caller) -> Bool {
        guard case .user(let user, _) = caller, let named = change.after?[Self.owner] else { return true }
        return named == .string(user)
    }

    /// Reading documents by name; nil for those that do not exist.
    func check(
        get names: [DocumentName], _ documents: [EncodedDocument?], in store: any DocumentStore, by caller: Caller
    ) async throws {
        if caller == .administrator { return }
        let roots = try await self.documents(Array(Set(names.compactMap(\.root))), in: store, by: caller)
        for (name, document) in zip(names, documents) {
            let allowed = try rules.allowsRead(of: name, try document?.decoded(), by: caller.requester) { roots[$0] }
            guard allowed else { throw DocumentStoreError.permissionDenied }
        }
    }

    /// Whether every possible result of the query may be read.
    func check(list query: Query, in store: any DocumentStore, by caller: Caller) async throws {
        if caller == .administrator { return }
        let roots = try await documents(query.parent.root.map { [$0] } ?? [], in: store, by: caller)
        // A collection group is judged as a collection: what it finds names its owner truthfully, see above.
        var query = query
        if query.parent.path.isEmpty { query.allDescendants = false }
        guard try rules.allowsQuery(query, by: caller.requester, lookup: { roots[$0] }) else {
            throw DocumentStoreError.permissionDenied
        }
    }

    /// Listing all documents or collections below a parent.
    func check(listing parent: ParentName, in store: any DocumentStore, by caller: Caller) async throws {
        if caller == .administrator { return }
        let roots = try await documents(parent.root.map { [$0] } ?? [], in: store, by: caller)
        guard try rules.allowsListing(below: parent, by: caller.requester, lookup: { roots[$0] }) else {
            throw DocumentStoreError.permissionDenied
        }
    }

    /// What no user has a rule for.
    func checkAdministration(by caller: Caller) throws {
        guard caller == .administrator else { throw DocumentStoreError.permissionDenied }
    }

    private func documents(
        _ names: [DocumentName], in store: any DocumentStore, by caller: Caller
    ) async throws -> [DocumentName: Document] {
        guard !names.isEmpty, caller != .nobody else { return [:] }
        let found = try await store.get(names, at: .strong).documents
        var documents: [DocumentName: Document] = [:]
        for (name, document) in zip(names, found) { documents[name] = try document?.decoded() }
        return documents
    }
}

extension DocumentName {
    /// The top-level document above this one; nil for a top-level document.
    fileprivate var root: DocumentName? {
        guard var root = parent else { return nil }
        while let parent = root.parent { root = parent }
        return root
    }
}

extension ParentName {
    /// The top-level document of the tree that the parent is in; nil for the whole database.
    fileprivate var root: DocumentName? {
        guard !path.isEmpty, let name = try? DocumentName(database: database, path: path) else { return nil }
        return name.root ?? name
    }
}
