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
    private struct Queue {
        var jobs: [CommitJob] = []
        var isScheduled = false
        var isClosed = false
        var isLeaseRequested = false
        /// The composite indexes suggested by queries of each account that have been handled
        /// already.
        var knownComposites: [String?: Set<IndexSuggestion>] = [:]
    }

    private struct IndexSuggestion: Hashable {
        let collection: Int64
        let index: CompositeIndex
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
    nonisolated private let queue = Mutex(Queue())
    nonisolated private let clock: CommitClock
    nonisolated private let transactions: TransactionRegistry
    nonisolated private let publisher: CommitPublisher
    private let tables: DocumentTables
    private let writer: DocumentWriter
    private let positions: CommittedPositions
    private var owners: OwnerCounts
    private var indexer: IndexWriter
    private var receipts: ReceiptTimes
    private let inheritedFields: Set<String>
    private let compositesOfAccount: Int
    private var waiting = WaitingCommits()
    private var oldestChange: Int64?
    private var isIndexing = false
    /// The time of the last update of the index.
    private var lastIndexing = ContinuousClock.now

    /// The maximum time that pending index entries wait while commits keep coming. Limits what must
    /// be read again after a crash.
    private static let indexingPause = Duration.seconds(30)

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(
        _ indexer: sending IndexWriter, clock: CommitClock, transactions: TransactionRegistry,
        publisher: CommitPublisher, retention: Duration, compositesOfAccount: Int,
        inheritedFields: Set<String>
    ) throws {
        self.clock = clock
        self.transactions = transactions
        self.publisher = publisher
        self.inheritedFields = inheritedFields
        self.compositesOfAccount = compositesOfAccount
        let tables = indexer.tables
        writer = DocumentWriter(tables)
        positions = CommittedPositions(sqlite: tables.sqlite)
        owners = OwnerCounts(tables)
        receipts = ReceiptTimes(
            sqlite: tables.sqlite, retention: Int64(retention.components.seconds) * 1_000_000)
        self.indexer = indexer
        oldestChange = try writer.oldestChange()
        self.tables = tables
    }

    deinit { thread.stop() }

    // MARK: Submitting commits

    nonisolated func commit(
        _ writes: [Write], transaction: TransactionID?, at position: StreamPosition? = nil, guarding: CommitGuard?
    ) async throws -> CommitResult {
        try await withCheckedThrowingContinuation { continuation in
            let job = CommitJob(
                writes: writes, transaction: transaction, position: position, guarding: guarding,
                continuation: continuation)
            let (accepted, mustSchedule) = queue.withLock { queue in
                guard !queue.isClosed else { return (false, false) }
                queue.jobs.append(job)
                defer { queue.isScheduled = true }
                return (true, !queue.isScheduled)
            }
            if !accepted { continuation.resume(throwing: DocumentStoreError.closed) }
            if mustSchedule { schedule() }
        }
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
        let (jobs, more) = queue.withLock { queue in
            let group = Array(queue.jobs.prefix(Self.groupLimit))
            queue.jobs.removeFirst(group.count)
            queue.isScheduled = !queue.jobs.isEmpty
            return (group, queue.isScheduled)
        }
        run(jobs)
        if more { schedule() }
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
                let wall = clock.wallTime
                try receipts.note(newest, receivedAt: wall)
                let limit = try receipts.limit(at: wall)
                // The index is recovered from the log, so changes must be in the index table before
                // they are pruned from the log.
                let mustIndex = try mayPrune(through: limit) && tables.setting("indexed") < limit
                indexing = try indexer.step(
                    of: 2 * changes.count, ifMoreThan: mustIndex ? 0 : indexer.batch, through: before)
                try prune(through: limit, after: jobs.count)
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
            try effects.inherit(inheritedFields, at: time) { [tables] in try tables.documents(below: $0, limit: $1) }
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
        Task { [weak self] in
            try? await Task.sleep(for: delay + .milliseconds(1))
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

    private func mayPrune(through limit: Int64) throws -> Bool {
        if oldestChange == nil { oldestChange = try writer.oldestChange() }
        return oldestChange.map { $0 <= limit } ?? false
    }

    /// Prunes old changes in proportion to new ones, so that no commit waits long for it.
    private func prune(through limit: Int64, after commits: Int) throws {
        guard try mayPrune(through: limit) else { return }
        let limit = min(limit, try tables.setting("indexed"))
        oldestChange = try writer.prune(through: limit, limit: commits * 4 + 16)
        try positions.prune(through: limit, limit: commits * 4 + 16)
        try receipts.prune(through: limit)
    }

    /// Moves pending index entries into the table, a part at a time, once there have been no
    /// commits for a second. While commits keep coming, waiting for a larger batch is more
    /// efficient.
    private func indexSoon() {
        guard !isIndexing, indexer.hasWork else { return }
        isIndexing = true
        let newest = clock.lastAssigned
        Task { [weak self] in
            try? await Task.sleep(for: .seconds(1))
            guard let self else { return }
            thread.async { [self] in assumeIsolated { $0.indexUnlessBusy(since: newest) } }
        }
    }

    private func indexUnlessBusy(since newest: Int64) {
        if clock.lastAssigned == newest || ContinuousClock.now - lastIndexing > Self.indexingPause || indexer.isBusy {
            indexNow()
        } else {
            isIndexing = false
            indexSoon()
        }
    }

    private func indexNow() {
        guard !queue.withLock({ $0.isClosed }) else { return }
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
        isIndexing = false
        lastIndexing = .now
        // Also after an error, for instance a full disk: commits report it, and the index can wait.
        indexSoon()
    }

    /// The maximum number of suggestions handled for an account, and remembered in total.
    private static let suggestionLimit = (account: 100, total: 10_000)

    /// Creates a composite index that a query of an account would have benefited from, unless it
    /// was suggested before.
    nonisolated func requestComposite(_ index: CompositeIndex, of collection: Int64, for account: String?) {
        let suggestion = IndexSuggestion(collection: collection, index: index)
        let isNew = queue.withLock { queue in
            guard !queue.isClosed, queue.knownComposites[account]?.count ?? 0 < Self.suggestionLimit.account else {
                return false
            }
            if queue.knownComposites.reduce(0, { $0 + $1.value.count }) >= Self.suggestionLimit.total {
                queue.knownComposites = [:]
            }
            return queue.knownComposites[account, default: []].insert(suggestion).inserted
        }
        guard isNew else { return }
        thread.async { [self] in assumeIsolated { $0.makeComposite(suggestion, for: account) } }
    }

    private func makeComposite(_ suggestion: IndexSuggestion, for account: String?) {
        do {
            let isNew = try tables.sqlite.transaction {
                try indexer.builder.register(
                    suggestion.index, of: suggestion.collection, for: account, limit: compositesOfAccount)
            }
            tables.forgetNumbers()
            try indexer.builder.registered()
            guard isNew, !isIndexing else { return }
            isIndexing = true
            indexNow()
        } catch {
            // The next query suggests the index again.
            tables.forgetNumbers()
            queue.withLock { _ = $0.knownComposites[account]?.remove(suggestion) }
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
        let mustAsk = queue.withLock { queue in
            defer { queue.isLeaseRequested = true }
            return !queue.isLeaseRequested && !queue.isClosed
        }
        guard mustAsk else { return }
        thread.async { [self] in
            assumeIsolated { writer in
                writer.queue.withLock { $0.isLeaseRequested = false }
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
        let rest = queue.withLock { queue in
            queue.isClosed = true
            defer { queue.jobs = [] }
            return queue.jobs
        }
        run(rest)
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
