import DocumentModel
import FirestoreProtocol
import SQLite
import Synchronization
import SystemIO

/// The only writer of a database. Applies commits in the order in which they arrive, several in one
/// SQLite transaction.
///
/// The `CommitPublisher` acknowledges a commit, and notifies listeners of it, once it is on disk.
actor CommitWriter {
    struct Configuration {
        /// The time for which changes are kept.
        let retention: Duration
        /// The number of composite indexes that the queries of one account may cause.
        let compositesOfAccount: Int
        /// The fields that documents below a document inherit.
        let inheritedFields: Set<String>
        let environment: Environment
    }

    /// The work on the index that commits do not wait for.
    private struct Indexing {
        var isScheduled = false
        /// The time of the last update of the index.
        var last: Duration
    }

    private enum Outcome {
        case committed(CommitResult, CommitRecord)
        /// The same commit was applied before.
        case repeated(CommitResult)
        case refused(any Error)
        case waiting(until: Duration, for: Set<TransactionID>)
    }

    /// The maximum number of commits in a group. Limits how long the first commit of a group waits
    /// for the last.
    private static let groupLimit = 500

    nonisolated private let thread = SerialThread()
    nonisolated private let queue = CommitQueue()
    nonisolated private let suggestions = CompositeSuggestions()
    nonisolated private let isLeaseRequested = Atomic(false)
    nonisolated private let clock: CommitClock
    nonisolated private let transactions: TransactionRegistry
    nonisolated private let publisher: CommitPublisher
    private let configuration: Configuration
    private let writer: DocumentWriter
    private let positions: CommittedPositions
    private var owners: OwnerCounts
    private var retention: ChangeRetention
    private var indexer: IndexWriter
    private var indexing: Indexing
    private var waiting = WaitingCommits()

    private var tables: DocumentTables { writer.tables }
    private var environment: Environment { configuration.environment }

    /// The maximum time that pending index entries wait while commits keep coming. Limits what must
    /// be read again after a crash.
    private static let indexingPause = Duration.seconds(30)

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(
        _ indexer: sending IndexWriter, clock: CommitClock, transactions: TransactionRegistry,
        publisher: CommitPublisher, configuration: Configuration
    ) throws {
        self.clock = clock
        self.transactions = transactions
        self.publisher = publisher
        self.configuration = configuration
        let tables = indexer.tables
        writer = DocumentWriter(tables)
        positions = CommittedPositions(sqlite: tables.sqlite)
        owners = OwnerCounts(tables)
        retention = try ChangeRetention(writer, positions, configuration.retention)
        self.indexer = indexer
        indexing = Indexing(last: configuration.environment.now())
    }

    deinit { thread.stop() }

    // MARK: Submitting commits

    nonisolated func commit(
        _ writes: [Write], transaction: TransactionID?, at position: StreamPosition? = nil, guarding: CommitGuard?
    ) async throws -> CommitResult {
        try await queue.commit(
            writes, transaction: transaction, at: position, guarding: guarding, schedule: schedule)
    }

    /// Retries the commits that wait for the locks of a transaction that has ended.
    nonisolated func retryWaiting(for transaction: TransactionID) {
        thread.async { [self] in
            assumeIsolated { writer in writer.admitWaiting { $0.transactions.contains(transaction) } }
        }
    }

    /// Returns when every commit that was in flight at the time of the call has been published or
    /// has failed.
    nonisolated func barrier() async throws {
        try await withCheckedThrowingContinuation { continuation in
            thread.async { [self] in publisher.publish(CommitGroup(answers: [.barrier(continuation)]), for: self) }
        }
    }

    private nonisolated func schedule() {
        // The closure retains the actor, and with it the thread, until the work is done.
        thread.async { [self] in assumeIsolated { $0.drain() } }
    }

    // MARK: Groups

    private func drain() {
        let (jobs, hasMore) = queue.next(Self.groupLimit)
        run(jobs)
        if hasMore { schedule() }
        indexSoon()
    }

    private func admitWaiting(where isDue: (WaitingCommits.Element) -> Bool) {
        let jobs = waiting.take(where: isDue)
        if !jobs.isEmpty { run(jobs) }
    }

    private func run(_ jobs: [CommitJob]) {
        guard repair() else { return publisher.publish(.refusing(jobs, publisher.failure ?? .closed), for: self) }
        do {
            publisher.publish(try runGroup(jobs), for: self)
        } catch let error where jobs.count > 1 && !Self.concernsTheFile(error) {
            // One of the commits caused an SQLite error. Each is retried alone, so that the others
            // do not fail.
            for job in jobs { run([job]) }
        } catch {
            publisher.publish(.refusing(jobs, error), for: self)
        }
    }

    private func runGroup(_ jobs: [CommitJob]) throws -> CommitGroup {
        var group = CommitGroup()
        var delayed: [WaitingCommits.Element] = []
        var indexing: IndexWriter.Step?
        let before = clock.lastAssigned
        do {
            try tables.sqlite.transaction {
                var changes = IndexChanges()
                for job in jobs {
                    switch try apply(job, &changes) {
                    case .committed(let result, let record):
                        group.answers.append(.committed(job, result))
                        group.records.append(record)
                    case .repeated(let result): group.answers.append(.committed(job, result))
                    case .refused(let error): group.answers.append(.refused(job, error))
                    case .waiting(let until, let others):
                        delayed.append(WaitingCommits.Element(job: job, until: until, transactions: others))
                    }
                }
                guard let newest = group.newest else { return }
                try owners.store()
                group.needsSync = true
                group.lease = try storeClock(newest: newest)
                let limit = try retention.limit(after: newest, receivedAt: clock.wallTime)
                // The index is recovered from the log, so changes must be in the index table before
                // they are pruned from the log.
                let mustIndex = try retention.hasChanges(through: limit) && tables.setting("indexed") < limit
                indexing = try indexer.step(
                    of: 2 * changes.count, ifMoreThan: mustIndex ? 0 : indexer.batch, through: before)
                try retention.prune(through: limit, after: jobs.count)
                indexer.pending.append(changes)
            }
        } catch {
            indexer.pending.removeAll(after: before)
            owners.forget()
            tables.forgetNumbers()
            clock.settle(newest: before)
            throw error
        }
        if let indexing { indexer.finish(indexing) }
        clock.settle(newest: group.newest ?? before)
        for commit in delayed { delay(commit) }
        return group
    }

    /// Applies one commit. Throws only errors that leave the SQLite transaction in doubt.
    private func apply(_ job: CommitJob, _ index: inout IndexChanges) throws -> Outcome {
        let time = Timestamp(microseconds: clock.assign())
        var effects: CommitEffects
        do {
            if let transaction = job.transaction { try transactions.checkOpen(transaction) }
            if let position = job.position, let result = try positions.result(at: position) {
                return .repeated(result)
            }
            effects = try CommitEffects(job.writes, at: time) { try tables.document($0).map(Document.init) }
            let proposed = ProposedCommit(
                changes: effects.changes, time: time,
                stored: { [tables] in try tables.document($0).map(Document.init) },
                count: { try self.owners.count(of: $0) })
            try job.guarding?.check(proposed)
            try effects.inherit(configuration.inheritedFields, at: time) { [tables] in
                try tables.documents(below: $0, limit: $1)
            }
            for case let after? in effects.changed.map(\.after) {
                let exempt = try tables.exemptFields(ofCollectionsNamed: after.name.collectionID)
                try IndexEntries.checkCount(after, exempt: exempt)
            }
        } catch let error as SQLiteError {
            throw error
        } catch {
            return .refused(error)
        }
        let changed = effects.changed
        let changes = changed.map { ($0.name, $0.before, $0.after) }
        switch transactions.admit(job.transaction, of: job.account, changing: changes) {
        case .wait(let until, let others): return .waiting(until: until, for: others)
        case .go(let aborted):
            if !waiting.isEmpty { for transaction in aborted { retryWaiting(for: transaction) } }
        }
        let record = CommitRecord(time: time, changes: changed.map(CommitRecord.Change.init))
        for (effect, change) in zip(changed, record.changes) {
            guard let document = try writer.store(effect, change.encoded, at: time.microseconds, &index) else {
                continue
            }
            try owners.add(effect, document: document) { name in
                if let top = changed.first(where: { $0.name == name }) { return top.after?.fields }
                return try tables.document(name).map(Document.init)?.fields
            }
        }
        let result = CommitResult(writeResults: effects.results, commitTime: time)
        if let position = job.position { try positions.add(position, result) }
        return .committed(result, record)
    }

    private func delay(_ commit: WaitingCommits.Element) {
        let now = transactions.now()
        do {
            wake(after: try waiting.add(commit, at: now, limits: transactions.limits) - now)
        } catch {
            publisher.publish(.refusing([commit.job], error), for: self)
        }
    }

    /// Retries waiting commits after a delay. A retry that comes too late or too early does no
    /// harm.
    private func wake(after delay: Duration) {
        Task { [weak self, environment] in
            try? await environment.sleep(for: delay + .milliseconds(1))
            self?.retryDue()
        }
    }

    private nonisolated func retryDue() {
        thread.async { [self] in
            assumeIsolated { writer in
                let now = writer.transactions.now()
                writer.admitWaiting { $0.until <= now }
            }
        }
    }

    // MARK: A failing disk

    /// Lets the writer determine whether the disk accepts elsewhere what a sync failed to write.
    nonisolated func repairSoon() {
        thread.async { [self] in assumeIsolated { _ = $0.repair() } }
    }

    /// Moves everything from the WAL into the database file and syncs that, after a failed sync.
    ///
    /// Returns whether all commits so far are where a sync can make them durable.
    private func repair() -> Bool {
        guard publisher.failure != nil else { return true }
        do {
            try tables.sqlite.checkpoint(truncating: true)
        } catch {
            publisher.giveUp(for: self)
            return false
        }
        publisher.repaired(for: self)
        return true
    }

    // MARK: Maintenance

    private func storeClock(newest: Int64) throws -> Int64? {
        try tables.setSetting("commit", newest)
        guard let lease = clock.leaseToStore() else { return nil }
        try tables.setSetting("clock", lease)
        return lease
    }

    /// Moves pending index entries into the table, a part at a time, once there have been no
    /// commits for a second. While commits keep coming, waiting for a larger batch is more
    /// efficient.
    private func indexSoon() {
        guard !indexing.isScheduled, indexer.hasWork else { return }
        indexing.isScheduled = true
        let newest = clock.lastAssigned
        Task { [weak self, environment] in
            try? await environment.sleep(for: .seconds(1))
            guard let self else { return }
            thread.async { [self] in assumeIsolated { $0.indexUnlessBusy(since: newest) } }
        }
    }

    private func indexUnlessBusy(since newest: Int64) {
        if clock.lastAssigned == newest || environment.now() - indexing.last > Self.indexingPause || indexer.isBusy {
            indexNow()
        } else {
            indexing.isScheduled = false
            indexSoon()
        }
    }

    private func indexNow() {
        guard !queue.isClosed else { return }
        indexer.pending.forgetSettled()
        do {
            let through = clock.lastAssigned
            try indexer.build(at: through)
            // Entries of an index that is being built are gathered into larger batches.
            let minimum = indexer.isBuilding ? indexer.batch : 0
            let step = try tables.sqlite.transaction {
                try indexer.step(of: IndexWriter.slice, ifMoreThan: minimum, through: through)
            }
            indexer.finish(step)
            if indexer.isBusy {
                // Lets commits run in between.
                return thread.async { [self] in assumeIsolated { $0.indexNow() } }
            }
        } catch {
            tables.forgetNumbers()
        }
        indexing.isScheduled = false
        indexing.last = environment.now()
        // Also after an error, for instance a full disk: commits report it, and the index can wait.
        indexSoon()
    }

    /// Creates a composite index that a query of an account would have benefited from, unless it
    /// was suggested before.
    nonisolated func requestComposite(_ index: CompositeIndex, of collection: Int64, for account: String?) {
        let suggestion = CompositeSuggestions.Suggestion(index, of: collection)
        guard !queue.isClosed, suggestions.add(suggestion, for: account) else { return }
        thread.async { [self] in assumeIsolated { $0.makeComposite(suggestion, for: account) } }
    }

    private func makeComposite(_ suggestion: CompositeSuggestions.Suggestion, for account: String?) {
        do {
            let isNew = try tables.sqlite.transaction {
                try indexer.builder.register(
                    suggestion.index, of: suggestion.collection, for: account,
                    limit: configuration.compositesOfAccount)
            }
            tables.forgetNumbers()
            try indexer.builder.registered()
            guard isNew, !indexing.isScheduled else { return }
            indexing.isScheduled = true
            indexNow()
        } catch {
            // The next query suggests the index again.
            tables.forgetNumbers()
            suggestions.remove(suggestion, for: account)
        }
    }

    /// Continues the work of the previous process. Must be called once, before any commit.
    func start() throws {
        try renewLease()
        indexSoon()
    }

    /// Renews the clock's lease if necessary. After a following `barrier`, read times up to a
    /// second from now are possible without a commit.
    func renewLease(through time: Int64 = 0) throws {
        guard let lease = clock.leaseToStore(through: time) else { return }
        try tables.sqlite.transaction { try tables.setSetting("clock", lease) }
        publisher.publish(CommitGroup(lease: lease, needsSync: true), for: self)
    }

    /// Requests a renewal of the lease. Further requests before it has happened have no effect.
    nonisolated func requestLease() {
        guard !queue.isClosed, !isLeaseRequested.exchange(true, ordering: .relaxed) else { return }
        thread.async { [self] in
            assumeIsolated { writer in
                writer.isLeaseRequested.store(false, ordering: .relaxed)
                // If it fails, read times do not advance, and the next reader requests it again.
                try? writer.renewLease()
            }
        }
    }

    /// Runs `body` with the tables while no group is applied.
    func withExclusiveAccess<Result: Sendable>(_ body: @Sendable (DocumentTables) throws -> Result) throws -> Result {
        try body(tables)
    }

    /// Refuses new commits, completes those submitted before, and closes the file with an exact
    /// clock.
    func close() async {
        run(queue.close())
        try? await barrier()
        for job in waiting.take(where: { _ in true }) {
            job.continuation.resume(throwing: DocumentStoreError.closed)
        }
        // If this fails, the log still contains the changes.
        while indexer.hasPending {
            let through = clock.lastAssigned
            guard
                let step = try? tables.sqlite.transaction({
                    try indexer.step(of: IndexWriter.slice, ifMoreThan: 0, through: through)
                })
            else { break }
            indexer.finish(step)
        }
        // If this fails, the lease remains, and the clock only starts up to a second later.
        try? tables.setSetting("clock", clock.lastIssued)
        try? tables.sqlite.checkpoint(truncating: true)
        tables.sqlite.close()
    }

    private static func concernsTheFile(_ error: any Error) -> Bool {
        guard let error = error as? SQLiteError else { return false }
        return [.full, .corrupt, .readOnly, .inputOutput, .misuse].contains(error.code)
    }
}
