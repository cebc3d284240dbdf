package import DocumentModel
package import DocumentStore
package import FirestoreProtocol
package import FirestoreServer
import Synchronization

/// A policy that decides by rules: the parts that the built-in rules and an operator's rules share.
package protocol RulesPolicy: DocumentAccessPolicy {
    /// The objects of others that may be read, about which no rule decides; nil: none.
    var objects: SharedObjects? { get }
    /// The quotas of commits; nil: none.
    var quotas: AccountQuotas? { get }

    /// Checks a read of documents by name, by the documents and everything that the rules ask for as
    /// of one point in time.
    func check(
        get names: [DocumentName], _ documents: [EncodedDocument?], at moment: ReadMoment,
        in store: any DocumentStore, by caller: Caller
    ) async throws

    /// Checks a commit by the rules, inside its transaction.
    func check(_ commit: borrowing ProposedCommit, by caller: Caller) throws
}

extension RulesPolicy {
    package func check(
        get names: [DocumentName], _ documents: [EncodedDocument?], in store: any DocumentStore, by caller: Caller
    ) async throws {
        try await check(get: names, documents, at: .strong, in: store, by: caller)
    }

    /// Checks a read of documents by name, of the present state or, with `past`, of a past one.
    ///
    /// For a past state the rules must allow the read with the documents of that time and with the
    /// present ones. A document that no longer exists is judged by its past content and by what the
    /// rules ask for now.
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

    /// Checks that each result that a query had at a past time may be read.
    func check(
        resultsOf query: Query, asOf past: Timestamp, in store: any DocumentStore, by caller: Caller
    ) async throws {
        var results = try await store.query(query, at: .at(past), for: caller.account).documents.makeAsyncIterator()
        while let page = try await results.nextPage() {
            try await check(get: page.map(\.name), asOf: past, in: store, by: caller)
        }
    }

    /// Returns the objects of others that writes name and the caller may read.
    func readableReferences(
        in writes: [Write], _ store: any DocumentStore, by caller: Caller
    ) async throws -> Set<ObjectReference> {
        guard case .user(let user, _, _, _) = caller else { return [] }
        var readable: Set<ObjectReference> = []
        for write in writes where write.name.isAmongTasks {
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

    /// Throws for callers other than administrators, for operations that no rule allows to users.
    package func checkAdministration(by caller: Caller) throws {
        guard caller == .administrator else { throw DocumentStoreError.permissionDenied }
    }
}

/// The check of one commit by rules and quotas.
final class RulesReview: CommitReview {
    private let policy: any RulesPolicy
    private let caller: Caller
    private let database: DatabaseName
    private let readable: Set<ObjectReference>
    private let changes = Mutex<Set<Int>>([])

    init(_ policy: any RulesPolicy, caller: Caller, database: DatabaseName, readable: Set<ObjectReference>) {
        self.policy = policy
        self.caller = caller
        self.database = database
        self.readable = readable
    }

    func check(_ commit: borrowing ProposedCommit) throws {
        for change in commit.changes where caller != .administrator {
            // An object that a task refers to may be moved to the task's history.
            let task = try change.write.name.root.flatMap { try commit.get($0) }
            guard Self.addsOnly(readable, in: change, of: task, by: caller) else {
                throw DocumentStoreError.permissionDenied
            }
        }
        try policy.check(commit, by: caller)
        if case .user(let id, _, _, _) = caller { try policy.quotas?.check(commit, by: id) }
        let found = try noteChanges(of: commit)
        changes.withLock { $0.formUnion(found) }
    }

    /// Counts the changes again, because others may have read the state before the commit after the
    /// changes were first counted.
    func end() { policy.objects?.changes.note(changes.withLock { $0 }) }

    /// Whether a change adds no references to objects of others but to these. An account that can
    /// reference an object can read it.
    private static func addsOnly(
        _ readable: Set<ObjectReference>, in change: ProposedChange, of task: Document?, by caller: Caller
    ) -> Bool {
        guard case .user(let user, _, _, _) = caller, change.write.name.isAmongTasks, let after = change.after else {
            return true
        }
        let named = ObjectReference.all(in: after.fields) { $0.owner != user }
        guard !named.isEmpty else { return true }
        let added = named.subtracting(readable)
        guard !added.isEmpty else { return true }
        let known = [change.before, task].compactMap { $0 }.map { ObjectReference.all(in: $0.fields) }
        return known.reduce(added) { $0.subtracting($1) }.isEmpty
    }

    /// Counts the changes of a commit for `SharedObjects` before it is stored. Returns the changes
    /// to count again afterwards.
    private func noteChanges(of commit: borrowing ProposedCommit) throws -> Set<Int> {
        guard let objects = policy.objects, database == objects.database else { return [] }
        var roots: [DocumentName: Document] = [:]
        for change in commit.changes where change.write.name.collectionID == "history" {
            if let root = change.write.name.root { roots[root] = try commit.getAfter(root) ?? commit.get(root) }
        }
        let changes = SharingChanges.changes(in: commit.changes) { $0.root.flatMap { roots[$0] } }
        objects.changes.note(changes)
        return changes
    }
}

extension DocumentName {
    /// Whether a document is a task or below one. References to objects are checked only when such
    /// documents are written, so only they make objects readable.
    var isAmongTasks: Bool { collectionPath == "tasks" || root?.collectionPath == "tasks" }
}
