import DocumentModel
import DocumentStore
import FirestoreProtocol
import Identity

/// Applies the rules to calls. Refusals are `DocumentStoreError.permissionDenied`.
struct DocumentAccess: Sendable {
    let rules = SecurityRules()

    /// Inside a commit's transaction.
    func check(_ commit: borrowing ProposedCommit, by caller: Caller) throws {
        for change in commit.changes {
            // A closure cannot hold on to the commit, so what the rules may ask for is got ahead.
            var known: [DocumentName: Document] = [:]
            if let root = change.write.name.root { known[root] = try commit.get(root) ?? commit.getAfter(root) }
            let documents = [change.before, change.after].compactMap { $0 } + known.values
            for list in rules.lists(deciding: documents, for: caller.requester) { known[list] = try commit.get(list) }
            let allowed = try rules.allowsWrite(
                to: change.write.name, before: change.before, after: change.after, by: caller.requester
            ) { known[$0] }
            guard allowed else { throw DocumentStoreError.permissionDenied }
        }
    }

    /// Reading documents by name; nil for those that do not exist.
    func check(
        get names: [DocumentName], _ documents: [EncodedDocument?], in store: any DocumentStore, by caller: Caller
    ) async throws {
        if caller == .administrator { return }
        let asked = try documents.map { try $0?.decoded() }
        let known = try await self.documents(
            names.compactMap(\.root), and: asked.compactMap { $0 }, in: store, by: caller)
        for (name, document) in zip(names, asked) {
            let allowed = try rules.allowsRead(of: name, document, by: caller.requester) { known[$0] }
            guard allowed else { throw DocumentStoreError.permissionDenied }
        }
    }

    /// Whether every possible result of the query may be read.
    func check(list query: Query, in store: any DocumentStore, by caller: Caller) async throws {
        if caller == .administrator { return }
        let query = Self.asCollection(query)
        if try rules.isForEver(query, by: caller.requester) { return }
        let names = (query.parent.root.map { [$0] } ?? []) + rules.lists(deciding: query)
        let known = try await documents(names, in: store, by: caller)
        guard try rules.allowsQuery(query, by: caller.requester, lookup: { known[$0] }) else {
            throw DocumentStoreError.permissionDenied
        }
    }

    /// Whether what the query may see stays allowed, whatever changes.
    func allowsForEver(_ query: Query, by caller: Caller) throws -> Bool {
        try rules.isForEver(Self.asCollection(query), by: caller.requester)
    }

    /// A collection group is judged as a collection: the rules see to it that what it finds names its owner and list truthfully.
    private static func asCollection(_ query: Query) -> Query {
        var query = query
        if query.parent.path.isEmpty { query.allDescendants = false }
        return query
    }

    /// Listing all documents or collections below a parent.
    func check(listing parent: ParentName, in store: any DocumentStore, by caller: Caller) async throws {
        if caller == .administrator { return }
        let known = try await documents(parent.root.map { [$0] } ?? [], in: store, by: caller)
        guard try rules.allowsListing(below: parent, by: caller.requester, lookup: { known[$0] }) else {
            throw DocumentStoreError.permissionDenied
        }
    }

    /// What no user has a rule for.
    func checkAdministration(by caller: Caller) throws {
        guard caller == .administrator else { throw DocumentStoreError.permissionDenied }
    }

    /// The documents of these names, and the lists that decide about them and about `others`.
    private func documents(
        _ names: [DocumentName], and others: [Document] = [], in store: any DocumentStore, by caller: Caller
    ) async throws -> [DocumentName: Document] {
        guard caller != .nobody else { return [:] }
        var known = try await get(names, in: store)
        let lists = rules.lists(deciding: others + known.values, for: caller.requester)
        known.merge(try await get(lists, in: store)) { $1 }
        return known
    }

    private func get(_ names: [DocumentName], in store: any DocumentStore) async throws -> [DocumentName: Document] {
        let names = Array(Set(names))
        guard !names.isEmpty else { return [:] }
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
