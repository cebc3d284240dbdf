package import DocumentModel
package import DocumentStore
package import FirestoreProtocol
package import FirestoreServer
import SecurityRules
import Synchronization

/// Applies the rules and the quotas to calls. The rules refuse with
/// `DocumentStoreError.permissionDenied`.
package struct DocumentAccess: DocumentAccessPolicy {
    let rules = BuiltInRules()
    /// The decision about objects of other users; nil if none may be read.
    let objects: SharedObjects?
    /// The quotas that commits are held to; nil: none.
    let quotas: AccountQuotas?

    package init(objects: SharedObjects? = nil, quotas: AccountQuotas? = nil) {
        self.objects = objects
        self.quotas = quotas
    }

    package func review(
        _ writes: [Write], in store: any DocumentStore, by caller: Caller
    ) async throws -> any CommitReview {
        let readable = try await prepare(writes, in: store, by: caller)
        return Review(access: self, caller: caller, database: store.database, readable: readable)
    }

    private final class Review: CommitReview {
        private let access: DocumentAccess
        private let caller: Caller
        private let database: DatabaseName
        private let readable: Set<ObjectReference>
        private let changes = Mutex<Set<Int>>([])

        init(access: DocumentAccess, caller: Caller, database: DatabaseName, readable: Set<ObjectReference>) {
            self.access = access
            self.caller = caller
            self.database = database
            self.readable = readable
        }

        func check(_ commit: borrowing ProposedCommit) throws {
            try access.check(commit, by: caller, readable: readable)
            if case .user(let id, _, _) = caller { try access.quotas?.check(commit, by: id) }
            let found = try access.noteChanges(of: commit, in: database)
            changes.withLock { $0.formUnion(found) }
        }

        /// Counts the changes again, because others may have read the state before the commit after
        /// the changes were first counted.
        func end() { access.noteStored(changes.withLock { $0 }) }
    }

    /// Checks a commit inside its transaction.
    ///
    /// - Parameter readable: The objects of others that the caller may read. References to any
    ///   other object of another user may not be added.
    func check(
        _ commit: borrowing ProposedCommit, by caller: Caller, readable: Set<ObjectReference> = []
    ) throws {
        guard caller != .administrator else { return }
        for change in commit.changes {
            // References that a task already has may also be added to its history.
            let task = try change.write.name.root.flatMap { try commit.get($0) }
            guard Self.addsOnly(readable, in: change, of: task, by: caller) else {
                throw DocumentStoreError.permissionDenied
            }
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

    /// Whether a change adds no references to objects of others but to these. An account that can
    /// reference an object can read it.
    static func addsOnly(
        _ readable: Set<ObjectReference>, in change: ProposedChange, of task: Document?, by caller: Caller
    ) -> Bool {
        guard case .user(let user, _, _) = caller, isAmongTasks(change.write.name), let after = change.after else {
            return true
        }
        let named = ObjectReference.all(in: after.fields) { $0.owner != user }
        guard !named.isEmpty else { return true }
        let added = named.subtracting(readable)
        guard !added.isEmpty else { return true }
        let known = [change.before, task].compactMap { $0 }.map { ObjectReference.all(in: $0.fields) }
        return known.reduce(added) { $0.subtracting($1) }.isEmpty
    }

    /// Whether a document is a task or below one. References to objects are checked on writing only
    /// there, so only there do they grant access.
    static func isAmongTasks(_ name: DocumentName) -> Bool {
        name.collectionPath == "tasks" || name.root?.collectionPath == "tasks"
    }

    /// Counts the changes of a commit for `SharedObjects` before it is stored. Returns the changes
    /// to count again afterwards.
    func noteChanges(of commit: borrowing ProposedCommit, in database: DatabaseName) throws -> Set<Int> {
        guard let objects, database == objects.database else { return [] }
        var roots: [DocumentName: Document] = [:]
        for change in commit.changes where change.write.name.collectionID == "history" {
            if let root = change.write.name.root { roots[root] = try commit.getAfter(root) ?? commit.get(root) }
        }
        let changes = SharingChanges.changes(in: commit.changes) { $0.root.flatMap { roots[$0] } }
        objects.changes.note(changes)
        return changes
    }

    func noteStored(_ changes: Set<Int>) { objects?.changes.note(changes) }

    /// Checks writes before they are tried.
    ///
    /// A failed precondition must not reveal documents in another user's namespace, and users must
    /// not be flooded with invitations. The number of invitations is that of the moment: commits
    /// that run at the same time may together exceed a limit.
    ///
    /// - Returns: The objects of others that the writes name and that the caller may read.
    @discardableResult func prepare(
        _ writes: [Write], in store: any DocumentStore, by caller: Caller
    ) async throws -> Set<ObjectReference> {
        guard case .user(let user, _, _) = caller else { return [] }
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
        return try await readableReferences(in: writes, store, by: user)
    }

    /// Returns the objects of others that writes name and the user may read.
    func readableReferences(
        in writes: [Write], _ store: any DocumentStore, by user: String
    ) async throws -> Set<ObjectReference> {
        var readable: Set<ObjectReference> = []
        for write in writes where Self.isAmongTasks(write.name) {
            for reference in ObjectReference.all(in: write, where: { $0.owner != user }) {
                // References in other databases grant no access.
                guard let objects, store.database == objects.database else {
                    readable.insert(reference)
                    continue
                }
                guard !readable.contains(reference) else { continue }
                if try await objects.mayRead(reference.key, by: user) { readable.insert(reference) }
            }
        }
        return readable
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
        get names: [DocumentName], _ documents: [EncodedDocument?], in store: any DocumentStore, by caller: Caller
    ) async throws {
        try await check(get: names, documents, at: .strong, in: store, by: caller)
    }

    /// Checks a read of documents by name.
    ///
    /// - Parameter moment: The time as of which their top-level documents and their lists are read.
    private func check(
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

    /// Checks a read of documents by name, of the present state or, with `past`, of a past one.
    ///
    /// For a past state the rules must allow the read both with the documents of that time and with
    /// the present ones. A document that no longer exists is judged by its past content and the
    /// present lists.
    package func check(
        get names: [DocumentName], asOf past: Timestamp?, in store: any DocumentStore, by caller: Caller
    ) async throws {
        if caller == .administrator { return }
        var documents = try await store.get(names, at: .strong).documents
        if let past {
            let old = try await store.get(names, at: .at(past)).documents
            try await check(get: names, old, at: .at(past), in: store, by: caller)
            documents = zip(documents, old).map { $0 ?? $1 }
        }
        try await check(get: names, documents, in: store, by: caller)
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
        var results = try await store.query(query, at: .at(past), for: caller.account).documents.makeAsyncIterator()
        while let page = try await results.nextPage() {
            try await check(get: page.map(\.name), asOf: past, in: store, by: caller)
        }
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

    /// Throws for callers other than administrators, for operations that no rule allows to users.
    package func checkAdministration(by caller: Caller) throws {
        guard caller == .administrator else { throw DocumentStoreError.permissionDenied }
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
