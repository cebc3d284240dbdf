package import DocumentModel
package import DocumentStore
package import FirestoreProtocol
package import FirestoreServer
import SecurityRules

/// Applies the rules and the quotas to calls. The rules refuse with
/// `DocumentStoreError.permissionDenied`.
package struct DocumentAccess: RulesPolicy {
    let rules = BuiltInRules()
    /// The decision about objects of other users; nil if none may be read.
    package let objects: SharedObjects?
    /// The quotas that commits are held to; nil: none.
    package let quotas: AccountQuotas?

    package init(objects: SharedObjects? = nil, quotas: AccountQuotas? = nil) {
        self.objects = objects
        self.quotas = quotas
    }

    package func review(
        _ writes: [Write], in store: any DocumentStore, by caller: Caller
    ) async throws -> any CommitReview {
        try await prepare(writes, in: store, by: caller)
        let readable = try await readableReferences(in: writes, store, by: caller)
        return RulesReview(self, caller: caller, database: store.database, readable: readable)
    }

    package func check(_ commit: borrowing ProposedCommit, by caller: Caller) throws {
        guard caller != .administrator else { return }
        for change in commit.changes {
            // The closure cannot capture the commit, so the documents that the rules may ask for
            // are read ahead.
            var known: [DocumentName: Document] = [:]
            if let root = change.write.name.root { known[root] = try commit.get(root) ?? commit.getAfter(root) }
            let lists = rules.lists(deciding: Array(known.values), for: caller.requester)
            let others = rules.names(
                deciding: change.write.name, before: change.before, after: change.after, for: caller.requester)
            for name in lists + others { known[name] = try commit.get(name) }
            let allowed = try rules.allowsWrite(
                to: change.write.name, before: change.before, after: change.after, by: caller.requester,
                address: caller.address
            ) { known[$0] }
            guard allowed else { throw DocumentStoreError.permissionDenied }
        }
    }

    /// Checks writes before they are tried.
    ///
    /// A failed precondition must not reveal documents in another user's namespace, and users must
    /// not be flooded with invitations. The number of invitations is that of the moment: commits
    /// that run at the same time may together exceed a limit.
    func prepare(_ writes: [Write], in store: any DocumentStore, by caller: Caller) async throws {
        guard case .user(let user, _, _, _) = caller else { return }
        let foreign = writes.map(\.name).filter { BuiltInRules.isForeign($0, to: user) }
        if !foreign.isEmpty {
            let found = try await get(foreign, in: store)
            for name in foreign {
                // Only callers who may not know of the document are refused here; the guard decides
                // about the write itself.
                let document = found[name]
                let deciding = rules.names(deciding: name, before: document, after: nil, for: caller.requester)
                let known = try await get(deciding, in: store)
                let isInvited = name.collectionPath == "lists" && document != nil && !known.isEmpty
                guard
                    try isInvited || rules.allowsRead(of: name, document, by: caller.requester, lookup: { known[$0] })
                else { throw DocumentStoreError.permissionDenied }
            }
        }
        try await limitInvitations(in: writes, store, from: user)
    }

    private func limitInvitations(in writes: [Write], _ store: any DocumentStore, from user: String) async throws {
        var recipients: [String: Int] = [:]
        for write in writes where write.name.collectionPath == Invitation.collection {
            guard case .update(_, let fields) = write.operation else { continue }
            recipients[fields["to"]?.stringValue ?? "", default: 0] += 1
        }
        guard !recipients.isEmpty else { return }
        func isOver(_ parts: [Query.Filter], _ limit: Int, adding count: Int) async throws -> Bool {
            var query = Query(
                parent: ParentName(store.database), collectionID: Invitation.collection, filter: .and(parts))
            query.limit = Int32(limit)
            var found = count
            for try await _ in try await store.query(query, at: .strong).documents { found += 1 }
            return found > limit
        }
        let mine = Query.Filter.field(Invitation.from, .equal, .string(user))
        let total = recipients.values.reduce(0, +)
        var isOverLimit = try await isOver([mine], Invitation.limitFrom, adding: total)
        for (recipient, count) in recipients where !isOverLimit {
            let theirs = Query.Filter.field(Invitation.to, .equal, .string(recipient))
            isOverLimit = try await isOver([mine, theirs], Invitation.limitBetween, adding: count)
            if !isOverLimit { isOverLimit = try await isOver([theirs], Invitation.limitTo, adding: count) }
        }
        guard !isOverLimit else {
            throw DocumentStoreError(
                .resourceExhausted,
                "Too many invitations are open: at most \(Invitation.limitFrom) of one account, \(Invitation.limitBetween) of "
                    + "one account to another, and \(Invitation.limitTo) to one account.")
        }
    }

    package func check(
        get names: [DocumentName], _ documents: [EncodedDocument?], at moment: ReadMoment,
        in store: any DocumentStore, by caller: Caller
    ) async throws {
        if caller == .administrator { return }
        let asked = try documents.map { try $0?.decoded() }
        let known = try await self.documents(
            names.compactMap(\.root), and: asked.compactMap { $0 }, at: moment, in: store, by: caller)
        for (name, document) in zip(names, asked) {
            let allowed = try rules.allowsRead(of: name, document, by: caller.requester) { known[$0] }
            guard allowed else { throw DocumentStoreError.permissionDenied }
        }
    }

    /// Checks that every possible result of the query may be read.
    ///
    /// With `past`, the rules must allow the query now and as of that time, and each result of that
    /// time must be readable now.
    package func check(
        list query: Query, asOf past: Timestamp?, in store: any DocumentStore, by caller: Caller
    ) async throws {
        try await check(watched: query, asOf: past, in: store, by: caller)
        // Results below a document that decides about all of them need no separate check.
        guard let past, query.parent.path.isEmpty, try !allowsForEver(query, by: caller) else { return }
        try await check(resultsOf: query, asOf: past, in: store, by: caller)
    }

    /// Checks that the future results of the query may be read and, with `past`, the names of its
    /// results at that time.
    package func check(
        watched query: Query, asOf past: Timestamp?, in store: any DocumentStore, by caller: Caller
    ) async throws {
        if try allowsForEver(query, by: caller) { return }
        let judged = Self.asCollection(query)
        try await check(judged: judged, at: .strong, in: store, by: caller)
        if let past { try await check(judged: judged, at: .at(past), in: store, by: caller) }
    }

    private func check(
        judged query: Query, at moment: ReadMoment, in store: any DocumentStore, by caller: Caller
    ) async throws {
        let names = (query.parent.root.map { [$0] } ?? []) + rules.lists(deciding: query)
        let known = try await documents(names, at: moment, in: store, by: caller)
        guard try rules.allowsQuery(query, by: caller.requester, lookup: { known[$0] }) else {
            throw DocumentStoreError.permissionDenied
        }
    }

    /// Whether the query stays allowed whatever changes.
    package func allowsForEver(_ query: Query, by caller: Caller) throws -> Bool {
        try caller == .administrator || rules.isForEver(Self.asCollection(query), by: caller.requester)
    }

    /// Returns the query with a collection group treated as a collection, because the rules ensure
    /// that each document in the group names its true owner and list.
    private static func asCollection(_ query: Query) -> Query {
        var query = query
        if query.parent.path.isEmpty { query.allDescendants = false }
        return query
    }

    /// Checks that all documents or collections below a parent may be listed; with `past`, now and
    /// as of that time.
    package func check(
        listing parent: ParentName, asOf past: Timestamp?, in store: any DocumentStore, by caller: Caller
    ) async throws {
        if caller == .administrator { return }
        for moment in [.strong] + (past.map { [ReadMoment.at($0)] } ?? []) {
            let known = try await documents(parent.root.map { [$0] } ?? [], at: moment, in: store, by: caller)
            guard try rules.allowsListing(below: parent, by: caller.requester, lookup: { known[$0] }) else {
                throw DocumentStoreError.permissionDenied
            }
        }
    }

    /// Returns the documents with these names, and the lists that decide about them and about
    /// `others`, as of one point in time.
    private func documents(
        _ names: [DocumentName], and others: [Document] = [], at moment: ReadMoment, in store: any DocumentStore,
        by caller: Caller
    ) async throws -> [DocumentName: Document] {
        guard caller != .nobody else { return [:] }
        var known = try await get(names, at: moment, in: store)
        let lists = rules.lists(deciding: others + known.values, for: caller.requester)
        known.merge(try await get(lists, at: moment, in: store)) { $1 }
        return known
    }

    private func get(
        _ names: [DocumentName], at moment: ReadMoment = .strong, in store: any DocumentStore
    ) async throws -> [DocumentName: Document] {
        let names = Array(Set(names))
        guard !names.isEmpty else { return [:] }
        let found = try await store.get(names, at: moment).documents
        var documents: [DocumentName: Document] = [:]
        for (name, document) in zip(names, found) { documents[name] = try document?.decoded() }
        return documents
    }
}

extension ParentName {
    /// The top-level document above the parent; nil for the whole database.
    fileprivate var root: DocumentName? {
        guard !path.isEmpty, let name = try? DocumentName(database: database, path: path) else { return nil }
        return name.root ?? name
    }
}
