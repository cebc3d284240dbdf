package import DocumentModel
import FirestoreProtocol
import Synchronization
package import SystemIO

/// A document store without a disk: the reference with which the SQLite store is compared, and
/// equally strict.
///
/// It keeps every version forever, and runs each query by examining every document.
package actor MemoryDocumentStore: DocumentStore {
    nonisolated package let database: DatabaseName
    /// Identifies this history in the tokens of listeners.
    nonisolated var epoch: [UInt8] { currentEpoch.withLock { $0 } }
    private let currentEpoch: Mutex<[UInt8]>
    private let transactions: TransactionRegistry
    private let inheritedFields: Set<String>
    private let now: @Sendable () -> Int64
    private let environment: Environment
    private var history = DocumentHistory()
    private var owners = MemoryOwners()
    /// The commits of streams by stream and number.
    private var positions: [[String]: (digest: [UInt8], result: Task<CommitResult, any Error>)] = [:]
    private var lastIssued: Int64 = 0
    /// The callers that wait for a transaction to end, or for a commit.
    private var waiters: [CheckedContinuation<Void, Never>] = []
    /// The number of waiting commits of each account.
    private var waitingCommits: [String?: Int] = [:]
    private var listeners: [CheckedContinuation<Void, Never>] = []

    /// Creates an empty store.
    ///
    /// - Parameter now: returns the time in microseconds since 1970; nil for the system's clock.
    package init(
        _ database: DatabaseName, lockWaitLimit: Duration = .seconds(15),
        accountLimits: AccountLimits = AccountLimits(),
        inheritedFields: Set<String> = [], environment: Environment = .system,
        now: (@Sendable () -> Int64)? = nil
    ) {
        self.database = database
        self.inheritedFields = inheritedFields
        self.environment = environment
        currentEpoch = Mutex(Self.makeEpoch(environment))
        var limits = LockTable.Limits()
        limits.lockWait = lockWaitLimit
        limits.account = accountLimits
        transactions = TransactionRegistry(limits: limits, environment: environment)
        self.now = now ?? StoreClock.system
    }

    private static func makeEpoch(_ environment: Environment) -> [UInt8] {
        var generator = environment
        return (0..<8).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    /// Reverts the store to the state at a time, as restoring a backup does. Later commits are
    /// gone, and listeners' tokens belong to another history. Open streams must be cancelled first.
    package func restore(to time: Timestamp) {
        history.forget(after: time)
        owners = MemoryOwners()
        owners.add(
            history.documents(at: time).map { CommitEffects.Effect(name: $0.name, before: nil, after: $0) }
        ) { [history] in history.document($0, at: time)?.fields }
        currentEpoch.withLock { $0 = Self.makeEpoch(environment) }
        signalEvent()
    }

    package func lineage(having seen: Timestamp?) -> String {
        StoreLineage.words(epoch, without: seen.map(history.hasCommit) ?? true ? nil : seen)
    }

    // MARK: Time

    private func tick() -> Timestamp {
        lastIssued = max(now(), lastIssued + 1)
        return Timestamp(microseconds: lastIssued)
    }

    private func readTime(_ moment: ReadMoment) throws -> Timestamp {
        switch moment {
        case .strong:
            lastIssued = max(lastIssued, now())
            return Timestamp(microseconds: lastIssued)
        case .at(let time):
            guard time.microseconds <= max(now(), lastIssued) else {
                throw DocumentStoreError(.invalidArgument, "The requested 'read_time' cannot be in the future.")
            }
            lastIssued = max(lastIssued, time.microseconds)
            return time
        case .transaction(let id):
            return try transactions.kind(of: id) == .readOnly
                ? Timestamp(microseconds: try transactions.readTime(id)) : try readTime(.strong)
        }
    }

    private func lock(_ moment: ReadMoment, documents: [DocumentName] = [], plan: QueryPlan? = nil) throws {
        guard case .transaction(let id) = moment, try transactions.kind(of: id) == .readWrite else { return }
        try transactions.lock(id, documents: documents, queries: plan.map { [LockTable.LockedQuery($0)] } ?? [])
    }

    // MARK: Writing

    package func commit(
        _ writes: [Write], transaction: TransactionID?, guarding: CommitGuard?
    ) async throws -> CommitResult {
        defer { if let transaction, transactions.end(transaction) { wakeWaiters() } }
        do {
            for write in writes { try DocumentStoreError.checkDatabase(write.name.database, is: database) }
            if let transaction {
                try transactions.checkOpen(transaction)
                if try transactions.kind(of: transaction) == .readOnly, !writes.isEmpty {
                    throw DocumentStoreError.readOnlyTransaction
                }
            }
            let deadline = transactions.now() + transactions.limits.lockWait
            if let result = try attempt(writes, transaction, guarding) { return result }
            try beginWaiting(guarding?.account)
            defer { waitingCommits[guarding?.account, default: 0] -= 1 }
            while true {
                if let result = try attempt(writes, transaction, guarding) { return result }
                guard transactions.now() < deadline else { throw DocumentStoreError.lockTimeout }
                await waitForTransactions(until: deadline)
            }
        } catch {
            throw DocumentStoreError(error)
        }
    }

    package func commit(
        _ writes: [Write], at position: StreamPosition, guarding: CommitGuard?
    ) async throws -> CommitResult {
        let place = [position.stream, "\(position.number)"]
        if let (digest, earlier) = positions[place] {
            guard digest == position.digest else { throw DocumentStoreError.otherCommit }
            return try await earlier.value
        }
        // Stored before it completes, because the same commit may be sent again meanwhile.
        let result = Task { try await commit(writes, transaction: nil, guarding: guarding) }
        positions[place] = (position.digest, result)
        do { return try await result.value } catch {
            positions[place] = nil
            throw error
        }
    }

    /// Applies a commit; nil if locks prevent it.
    private func attempt(
        _ writes: [Write], _ transaction: TransactionID?, _ guarding: CommitGuard?
    ) throws -> CommitResult? {
        if let transaction { try transactions.checkOpen(transaction) }
        let time = tick()
        let stored: (DocumentName) -> Document? = { [history] in history.document($0, at: time) }
        var effects = try CommitEffects(writes, at: time, stored: stored)
        try guarding?.check(
            ProposedCommit(
                changes: effects.changes, time: time, stored: stored,
                count: { [documents = owners.counts] in documents[$0] ?? 0 }))
        try effects.inherit(inheritedFields, at: time) { [history] root, limit in
            let parent = ParentName(root)
            return Array(history.documents(at: time).filter { parent.isAncestor(of: $0.name) }.prefix(limit))
        }
        let changed = effects.changed
        let committer = transaction?.kind == .readWrite ? transaction : nil
        let verdict = transactions.admit(
            committer, of: guarding?.account, changing: changed.map { ($0.name, $0.before, $0.after) })
        guard case .go(let aborted) = verdict else { return nil }
        if !aborted.isEmpty { wakeWaiters() }
        history.append(changed, at: time)
        owners.add(changed) { [history] in history.document($0, at: time)?.fields }
        signalEvent()
        return CommitResult(writeResults: effects.results, commitTime: time)
    }

    private func beginWaiting(_ account: String?) throws {
        let limit = transactions.limits.account.waitingCommits
        guard account == nil || waitingCommits[account, default: 0] < limit else {
            throw DocumentStoreError.tooManyWaitingCommits(limit)
        }
        waitingCommits[account, default: 0] += 1
    }

    private func waitForTransactions(until deadline: Duration) async {
        let pause = min(.seconds(1), deadline - transactions.now()) + .milliseconds(1)
        // Wakes the waiting callers even if no transaction ends, so that time limits are noticed.
        let alarm = Task {
            try? await environment.sleep(for: pause)
            wakeWaiters()
        }
        await withCheckedContinuation { waiters.append($0) }
        alarm.cancel()
    }

    private func wakeWaiters() {
        for waiter in waiters { waiter.resume() }
        waiters = []
    }

    package func batchWrite(
        _ writes: [Write], guarding: CommitGuard?
    ) async throws -> [Result<WriteResult, DocumentStoreError>] {
        guard Set(writes.map(\.name)).count == writes.count else {
            throw DocumentStoreError(
                .invalidArgument, "the same document cannot be written more than once in a single request")
        }
        var results: [Result<WriteResult, DocumentStoreError>] = []
        for write in writes {
            do {
                let commit = try await commit([write], transaction: nil, guarding: guarding)
                results.append(.success(commit.writeResults.first ?? WriteResult(updateTime: nil)))
            } catch {
                results.append(.failure(DocumentStoreError(error)))
            }
        }
        return results
    }

    package func documentCount(of owner: String) -> Int64 { owners.counts[owner] ?? 0 }

    package func deleteAllDocuments() async throws {
        let all = history.documents(at: try readTime(.strong))
        _ = try await commit(all.map { Write(.delete($0.name)) })
    }

    package func beginTransaction(_ options: TransactionOptions, for account: String?) throws -> TransactionID {
        switch options {
        case .readWrite(let retry):
            return try transactions.beginReadWrite(for: account, retry: retry, wallTime: now())
        case .readOnly(let time):
            return try transactions.beginReadOnly(
                for: account, at: readTime(time.map { .at($0) } ?? .strong).microseconds)
        }
    }

    package func readTime(of transaction: TransactionID) throws -> Timestamp? {
        guard try transactions.kind(of: transaction) == .readOnly else { return nil }
        return Timestamp(microseconds: try transactions.readTime(transaction))
    }

    package func rollback(_ transaction: TransactionID) throws {
        try transactions.rollBack(transaction)
        wakeWaiters()
    }

    // MARK: Reading

    package func get(_ names: [DocumentName], at moment: ReadMoment, byteLimit: Int) throws -> GetResult {
        for name in names { try DocumentStoreError.checkDatabase(name.database, is: database) }
        try lock(moment, documents: names)
        let time = try readTime(moment)
        return GetResult(
            documents: names.documents(within: byteLimit) { history.document($0, at: time).map(EncodedDocument.init) },
            readTime: time)
    }

    package func query(_ query: Query, at moment: ReadMoment, for account: String?) throws -> QueryResult {
        let plan = try checked(query)
        try lock(moment, plan: plan)
        let time = try readTime(moment)
        let results = history.results(plan, at: time)
        let page = QueryPage(
            documents: results.documents.map(EncodedDocument.init), skippedCount: results.skipped,
            statistics: QueryStatistics(documentsScanned: history.documents(at: time).count), isLast: true)
        return QueryResult(readTime: time, documents: QueryDocuments { { page } }, indexes: [])
    }

    package func plan(_ query: Query, for account: String?) throws -> [IndexUse] {
        _ = try checked(query)
        return []
    }

    package func aggregate(
        _ query: Query, _ aggregations: [Query.Aggregation], at moment: ReadMoment, for account: String?
    ) throws -> AggregateResult {
        do {
            var aggregator = try Aggregator(aggregations, of: query)
            let plan = try checked(aggregator.query)
            try lock(moment, plan: plan)
            let time = try readTime(moment)
            for document in history.results(plan, at: time).documents { aggregator.add(document) }
            return AggregateResult(
                values: aggregator.results(), readTime: time, indexes: [],
                statistics: QueryStatistics(documentsScanned: history.documents(at: time).count))
        } catch {
            throw DocumentStoreError(error)
        }
    }

    package func list(_ listing: DocumentListing, at moment: ReadMoment, for account: String?) throws -> DocumentPage {
        guard listing.pageSize >= 0 else {
            throw DocumentStoreError(.invalidArgument, "Page size must be nonnegative.")
        }
        try listing.check()
        let token = try PageToken(parsing: listing.pageToken)
        let plan = try checked(listing.query)
        try lock(moment, plan: plan)
        let time = try readTime(token.map { .at($0.time) } ?? moment)
        // Direct children only.
        let depth = listing.parent.path.split(separator: "/").count + 2
        var entries = history.results(plan, at: time).documents.filter { $0.name.segments.count == depth }
            .map { DocumentPage.Entry.document(EncodedDocument($0)) }
        if listing.showMissing {
            let present = Set(entries.map(\.name))
            var parents = Set<DocumentName>()
            for document in history.documents(at: time) where listing.parent.isAncestor(of: document.name) {
                guard document.name.segments.count > depth else { continue }
                let path = document.name.segments.prefix(depth).joined(separator: "/")
                let parent = try DocumentName(database: database, path: path)
                if listing.collectionID.isEmpty || UTF8Order.areEqual(parent.collectionID, listing.collectionID) {
                    parents.insert(parent)
                }
            }
            entries += parents.subtracting(present).map(DocumentPage.Entry.missing)
            entries.sort { $0.name < $1.name }
        }
        if let token {
            let last = try listing.name(of: token, in: database)
            entries.removeFirst(entries.firstIndex { $0.name == last }.map { $0 + 1 } ?? entries.count)
        }
        let size = listing.pageSize == 0 ? 300 : Int(listing.pageSize)
        guard entries.count > size else { return DocumentPage(entries: entries, nextPageToken: "", readTime: time) }
        entries.removeLast(entries.count - size)
        let next = entries.last.map { PageToken(time: time, text: listing.tokenText($0.name)).description } ?? ""
        return DocumentPage(entries: entries, nextPageToken: next, readTime: time)
    }

    package func listCollectionIDs(
        parent: ParentName, pageSize: Int32, pageToken: String, at moment: ReadMoment
    ) throws -> CollectionIDPage {
        guard pageSize >= 0 else { throw DocumentStoreError(.invalidArgument, "Page size must be nonnegative.") }
        let token = try PageToken(parsing: pageToken)
        let time = try readTime(token.map { .at($0.time) } ?? moment)
        let ids = Set(history.documents(at: time).compactMap { Self.segment(of: $0.name.path, below: parent.path) })
        var sorted = ids.sorted { UTF8Order.precedes($0, $1) }
        if let token { sorted.removeAll { !UTF8Order.precedes(token.text, $0) } }
        let size = pageSize == 0 ? 300 : Int(pageSize)
        guard sorted.count > size else { return CollectionIDPage(ids: sorted, nextPageToken: "") }
        sorted.removeLast(sorted.count - size)
        return CollectionIDPage(
            ids: sorted, nextPageToken: PageToken(time: time, text: sorted.last ?? "").description)
    }

    package func partition(
        _ query: Query, count: Int64, pageSize: Int32, pageToken: String, at moment: ReadMoment
    ) throws -> PartitionPage {
        try query.checkPartition(count: count, pageSize: pageSize)
        let plan = try checked(query)
        let token = try PageToken(parsing: pageToken)
        let time = try readTime(token.map { .at($0.time) } ?? moment)
        let names = history.results(plan, at: time).documents.map(\.name)
        return PartitionPage(of: names, count: count, pageSize: pageSize, after: token, at: time)
    }

    private static func segment(of path: String, below parent: String) -> String? {
        if parent.isEmpty { return path.split(separator: "/").first.map(String.init) }
        guard path.utf8.starts(with: "\(parent)/".utf8) else { return nil }
        return path.split(separator: "/").dropFirst(parent.split(separator: "/").count).first.map(String.init)
    }

    private func checked(_ query: Query) throws(DocumentStoreError) -> QueryPlan {
        try DocumentStoreError.checkDatabase(query.parent.database, is: database)
        do { return try QueryPlan(query) } catch { throw DocumentStoreError(error) }
    }

    // MARK: Listening

    nonisolated package func resumeTime(of token: [UInt8]) -> Timestamp? { ListenMachine.time(of: token, epoch: epoch) }

    nonisolated package func listen(for account: String?) -> any ListenStream { MemoryListenStream(self) }

    /// The documents that a listener is notified of for a selection.
    enum Contents: Sendable {
        case all([Document])
        /// The changed documents: those that belong to the selection now, and the names of those
        /// that do not.
        case changes([Document], others: [DocumentName])
    }

    /// Returns the documents of each selection, all as of one time that no later commit precedes.
    ///
    /// - Parameter since: the time up to which the listener was notified; nil if it was not.
    func contents(
        _ selections: [(selection: ListenMachine.Selection, since: Timestamp?)]
    ) throws -> (contents: [Contents], time: Timestamp) {
        let time = try readTime(.strong)
        // Usually all selections have the same time.
        var changes: [Timestamp: [DocumentName]] = [:]
        for since in Set(selections.compactMap(\.since)) {
            changes[since] = history.names(changedAfter: since).sorted()
        }
        return (selections.map { contents($0.selection, $0.since.flatMap { changes[$0] }, at: time) }, time)
    }

    /// Returns the documents of one selection.
    ///
    /// - Parameter changes: the documents that changed since the listener was notified; nil if it
    ///   was not.
    private func contents(
        _ selection: ListenMachine.Selection, _ changes: [DocumentName]?, at time: Timestamp
    ) -> Contents {
        // With a limit, the change of one document can bring another one into the results.
        guard let changes, case .query(let plan) = selection, plan.query.limit == nil, plan.query.offset == 0 else {
            return .all(contents(selection, at: time))
        }
        var members: [Document] = []
        var others: [DocumentName] = []
        for name in changes where plan.isInScope(name) {
            if let document = history.document(name, at: time), plan.matches(document) {
                members.append(document)
            } else {
                others.append(name)
            }
        }
        return .changes(members, others: others)
    }

    /// Returns the documents of a selection as of a time.
    func contents(_ selection: ListenMachine.Selection, at time: Timestamp) -> [Document] {
        switch selection {
        case .query(let plan): history.results(plan, at: time).documents
        case .documents(let names): names.compactMap { history.document($0, at: time) }
        }
    }

    func document(_ name: DocumentName, at time: Timestamp) -> Document? { history.document(name, at: time) }

    /// The number of events so far: commits and listeners' requests.
    private(set) var eventCount = 0

    /// Waits until `eventCount` is greater than `count`.
    func waitForEvent(after count: Int) async {
        if eventCount > count { return }
        await withCheckedContinuation { listeners.append($0) }
    }

    func signalEvent() {
        eventCount += 1
        for listener in listeners { listener.resume() }
        listeners = []
    }
}

/// The number of documents that each user owns.
private struct MemoryOwners {
    private(set) var counts: [String: Int64] = [:]
    private var owners: [DocumentName: String] = [:]

    /// Counts changes.
    ///
    /// - Parameter fields: returns the fields of a document after the changes.
    mutating func add(_ effects: [CommitEffects.Effect], fields: (DocumentName) -> [String: Value]?) {
        for effect in effects {
            let before = owners[effect.name]
            var after: String?
            if effect.after != nil {
                after = DocumentOwner.named(by: effect.after?.fields)
                if after == nil, let top = effect.name.root {
                    let kept = DocumentOwner.named(by: effect.before?.fields) == nil ? before : nil
                    after = kept ?? DocumentOwner.named(by: fields(top))
                }
            }
            if let before { counts[before, default: 0] -= 1 }
            if let after { counts[after, default: 0] += 1 }
            owners[effect.name] = after
        }
    }
}
