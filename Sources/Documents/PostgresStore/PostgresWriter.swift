import Cryptography
import DocumentModel
import DocumentStore
import FirestoreProtocol
import Glibc
import PostgreSQL
import Synchronization
import SystemIO

/// The writer of one server: applies the commits that its clients request, several in one
/// transaction of PostgreSQL, and learns of those of other servers.
///
/// A transaction first locks the database's row, whose clock orders all commits of all servers. What
/// others have committed since is read next, before anything is applied: listeners are notified of
/// it, and transactions that have read what it changed are aborted. So both see all commits in their
/// one order.
actor PostgresWriter {
    private enum Outcome {
        case committed(CommitResult)
        case refused(any Error)
        case waiting(until: Duration, for: Set<TransactionID>)
    }

    /// The database's row.
    private struct DatabaseRow {
        let clock: Int64
        let horizon: Int64
        let layout: Int64
        /// The time by the server's clock.
        let now: Int64
    }

    /// An error after which it is unknown whether the commits were applied.
    private struct UnknownOutcome: Error {
        let cause: PostgresError
    }

    /// The limits of a group of commits, so that the first does not wait long for the last.
    private static let groupLimit = (commits: 500, bytes: 8 << 20)
    /// The number of changes of other servers that are read at once.
    private static let foreignChunk = 500
    /// The time for which a commit waits for a server that does not answer, for example while
    /// another takes its place.
    private static let patience = Duration.seconds(30)
    private static let pruningPause = Duration.seconds(2)
    private static let pruningLimit: Int64 = 10_000

    private static let groupTimes = Metrics.Metric(
        "ferry_commit_group_seconds", "Durations of transactions, each of which applies a group of commits.")
    private static let groupCommits = Metrics.Metric("ferry_commit_group_commits_total", "Commits in these groups.")

    nonisolated private let thread = SerialThread()
    nonisolated private let queue = CommitQueue()
    nonisolated private let suggestions = CompositeSuggestions()
    nonisolated private let transactions: TransactionRegistry
    nonisolated private let hub: ListenHub
    /// The read of the log that is due and has not begun.
    nonisolated private let dueReading = Mutex<AsyncResult<Void>?>(nil)
    /// The time at which the log was last read.
    nonisolated private let lastReading: Mutex<Duration>
    nonisolated private let now: @Sendable () -> Duration
    nonisolated private let database: DatabaseName
    private let partition: Int64
    private let session: PostgresSession
    private let caches: WriterCaches
    private let configuration: PostgresDocumentStore.Configuration
    private var waiting = WaitingCommits()
    /// The time up to which listeners and transactions know all commits.
    private var known: Int64
    private var layout: Int64 = -1
    private var lastPruning: Duration

    private var environment: Environment { configuration.environment }

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(
        _ database: DatabaseName, partition: Int64, session: PostgresSession, known: Int64,
        transactions: TransactionRegistry, hub: ListenHub, configuration: PostgresDocumentStore.Configuration
    ) {
        self.database = database
        self.partition = partition
        self.session = session
        self.known = known
        self.transactions = transactions
        self.hub = hub
        self.configuration = configuration
        caches = WriterCaches(partition: partition)
        lastPruning = configuration.environment.now()
        now = configuration.environment.now
        lastReading = Mutex(configuration.environment.now())
    }

    /// The time since the commits of other servers were last read, in seconds.
    nonisolated var secondsSinceReading: Double { (now() - lastReading.withLock { $0 }) / .seconds(1) }

    deinit { thread.stop() }

    /// The topic of notifications of commits to this database.
    nonisolated var topic: String { "documents \(database)" }

    // MARK: Submitting commits

    nonisolated func commit(
        _ writes: [Write], transaction: TransactionID?, at position: StreamPosition?, guarding: CommitGuard?
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
    nonisolated func barrier() async throws { try await thread.run {} }

    private nonisolated func schedule() {
        // The closure retains the actor, and with it the thread, until the work is done.
        thread.async { [self] in assumeIsolated { $0.drain() } }
    }

    // MARK: Groups

    private func drain() {
        let (jobs, hasMore) = queue.next(Self.groupLimit.commits, bytes: Self.groupLimit.bytes)
        run(jobs)
        if hasMore { schedule() }
    }

    private func admitWaiting(where isDue: (WaitingCommits.Element) -> Bool) {
        let jobs = waiting.take(where: isDue)
        if !jobs.isEmpty { run(jobs) }
    }

    private func run(_ jobs: [CommitJob]) {
        do {
            try retrying { try runGroup(jobs) }
        } catch let error where jobs.count > 1 && !(error is UnknownOutcome) && !Self.concernsTheServer(error) {
            // One of the commits caused the error. Each is retried alone, so that the others do not
            // fail.
            for job in jobs { run([job]) }
        } catch {
            for job in jobs { refuse(job, error) }
        }
    }

    /// Runs `body` again after errors that may pass.
    private func retrying<Result>(_ body: () throws -> Result) throws -> Result {
        let end = environment.now() + Self.patience
        var pause: UInt32 = 5000
        while true {
            do {
                return try body()
            } catch let error as PostgresError where error.isTransient && environment.now() < end && !queue.isClosed {
                session.rollBack()
                forget()
                // Only commits of this server wait here, and they cannot do without the database.
                usleep(pause)
                pause = min(2 * pause, 500_000)
                if error.isReadOnly { session.close() }
            } catch {
                session.rollBack()
                forget()
                throw error
            }
        }
    }

    private func forget() {
        caches.forget()
        layout = -1
    }

    private func runGroup(_ jobs: [CommitJob]) throws {
        let start = environment.now()
        defer {
            configuration.metrics?.observe(Self.groupTimes, [:], environment.now() - start)
            configuration.metrics?.count(Self.groupCommits, [:], Int64(jobs.count))
        }
        let connection = try session.connected()
        let row = try lock(connection)
        try publishForeign(through: row, connection)
        let batch = CommitBatch(database, after: row.clock, caches, connection)
        try batch.load(jobs.lazy.flatMap(\.writes).map(\.name))
        var records: [CommitRecord] = []
        var answers: [(CommitJob, Outcome)] = []
        for job in jobs { answers.append((job, try apply(job, to: batch, now: row.now, &records))) }
        if batch.newest > row.clock {
            let token = RandomBytes.make(16)
            let statements =
                batch.statements(token: token) + pruning(at: row.now) + [PostgresStatement("COMMIT")]
            try store(statements, token, at: batch.newest, connection)
            configuration.peers?.notify(topic)
        } else {
            try connection.send([PostgresStatement("COMMIT")])
        }
        publish(records, through: max(row.clock, batch.newest))
        for (job, outcome) in answers { give(outcome, to: job) }
    }

    /// Begins a transaction that excludes those of all other writers of this database.
    private func lock(_ connection: PostgresConnection) throws -> DatabaseRow {
        let rows = try connection.run([
            PostgresStatement("BEGIN"),
            PostgresStatement(
                """
                SELECT clock, horizon, layout, (extract(epoch FROM clock_timestamp())*1000000)::bigint
                FROM ferry.database WHERE partition=$1 FOR UPDATE
                """, [.integer(partition)]),
        ])
        guard let row = rows.last, row.count == 1 else {
            throw PostgresError("The row of the database \(database) is gone.")
        }
        let found = DatabaseRow(
            clock: row.integer(0, 0), horizon: row.integer(0, 1), layout: row.integer(0, 2), now: row.integer(0, 3))
        if found.layout != layout { caches.forget() }
        layout = found.layout
        return found
    }

    /// Applies one commit. Throws only errors that leave the transaction in doubt.
    private func apply(
        _ job: CommitJob, to batch: CommitBatch, now: Int64, _ records: inout [CommitRecord]
    ) throws -> Outcome {
        let time = Timestamp(microseconds: max(now, batch.newest &+ 1))
        var effects: CommitEffects
        do {
            if let transaction = job.transaction { try transactions.checkOpen(transaction) }
            if let position = job.position, let result = try batch.result(at: position) { return .committed(result) }
            effects = try CommitEffects(job.writes, at: time) { try batch.document($0) }
            let proposed = ProposedCommit(
                changes: effects.changes, time: time, stored: { try batch.document($0) },
                count: { try batch.count(of: $0) })
            try job.guarding?.check(proposed)
            try effects.inherit(configuration.inheritedFields, at: time) {
                try batch.documents(below: $0, limit: $1)
            }
            for case let after? in effects.changed.map(\.after) {
                let exempt = try caches.exemptFields(
                    ofCollectionsNamed: after.name.collectionID, try session.connected())
                try IndexEntries.checkCount(after, exempt: exempt)
            }
        } catch let error as PostgresError {
            throw error
        } catch {
            return .refused(error)
        }
        let changed = effects.changed
        let changes = changed.map { ($0.name, $0.before, $0.after) }
        switch transactions.admit(job.transaction, of: job.account, changing: changes) {
        case .wait(let until, let others): return .waiting(until: until, for: others)
        case .go(let aborted): retry(after: aborted)
        }
        let record = CommitRecord(time: time, changes: changed.map(CommitRecord.Change.init))
        let result = CommitResult(writeResults: effects.results, commitTime: time)
        try batch.apply(changed, record, result, at: job.position)
        records.append(record)
        return .committed(result)
    }

    private func retry(after ended: Set<TransactionID>) {
        if !waiting.isEmpty { for transaction in ended { retryWaiting(for: transaction) } }
    }

    /// Runs the statements that store a batch and commit.
    private func store(
        _ statements: [PostgresStatement], _ token: [UInt8], at time: Int64, _ connection: PostgresConnection
    ) throws {
        var failure: PostgresError?
        do { _ = try connection.run(statements) } catch { failure = error }
        guard let failure else { return }
        guard failure.isDisconnected, try wasCommitted(token, at: time, after: failure) else { throw failure }
    }

    /// Determines what became of a COMMIT whose answer was lost.
    private func wasCommitted(_ token: [UInt8], at time: Int64, after cause: PostgresError) throws -> Bool {
        let end = environment.now() + Self.patience
        while environment.now() < end, !queue.isClosed {
            do {
                let connection = try session.connected()
                // The lock waits until the server has ended the lost connection's transaction.
                _ = try lock(connection)
                let found = try connection.run(
                    "SELECT 1 FROM ferry.batch WHERE partition=$1 AND time=$2 AND token=$3",
                    [.integer(partition), .integer(time), .bytes(token)])
                session.rollBack()
                return found.count > 0
            } catch let error as PostgresError where error.isTransient {
                session.rollBack()
                usleep(50_000)
            }
        }
        throw UnknownOutcome(cause: cause)
    }

    private func give(_ outcome: Outcome, to job: CommitJob) {
        switch outcome {
        case .committed(let result):
            end(job)
            job.continuation.resume(returning: result)
        case .refused(let error): refuse(job, error)
        case .waiting(let until, let others):
            let now = transactions.now()
            do {
                let commit = WaitingCommits.Element(job: job, until: until, transactions: others)
                wake(after: try waiting.add(commit, at: now, limits: transactions.limits) - now)
            } catch {
                refuse(job, error)
            }
        }
    }

    private func refuse(_ job: CommitJob, _ error: any Error) {
        end(job)
        let error = (error as? UnknownOutcome)?.cause ?? error
        job.continuation.resume(throwing: DocumentStoreError(ofPostgres: error))
    }

    /// Ends the transaction of a commit, also if the commit failed.
    private func end(_ job: CommitJob) {
        if let transaction = job.transaction, transactions.end(transaction) { retryWaiting(for: transaction) }
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

    /// Whether retrying each commit of a group alone would fail as well.
    private static func concernsTheServer(_ error: any Error) -> Bool {
        guard let error = error as? PostgresError else { return false }
        return error.isTransient || error.isOutOfResources
    }

    // MARK: Commits of other servers

    /// Publishes what other servers have committed since, and aborts the transactions that it concerns.
    ///
    /// The log is read a part at a time: a server that was cut off for long has missed much.
    private func publishForeign(through row: DatabaseRow, _ connection: PostgresConnection) throws {
        guard row.clock > known else { return }
        guard row.horizon <= known else {
            // The log no longer reaches back: listeners must read everything again.
            hub.closeAll()
            return publish([], through: row.clock)
        }
        let snapshot = PostgresSnapshot(
            database, connection, numbers: caches.numbers, horizon: row.horizon, tuning: configuration.tuning,
            onIndexSuggestion: { _, _, _ in }, onDamage: { _ in })
        while known < row.clock {
            let part = try ChangeLog(snapshot: snapshot).commits(
                after: known, through: row.clock, limit: Self.foreignChunk, isWanted: { _ in true })
            for record in part.records {
                retry(after: transactions.abort(changed: record.changes.map { ($0.name, $0.before, $0.after) }))
            }
            publish(part.records, through: part.through)
        }
    }

    private func publish(_ records: [CommitRecord], through time: Int64) {
        guard time > known else { return }
        known = time
        hub.publish(records, through: time, lease: nil)
    }

    /// Learns of the commits of other servers.
    nonisolated func catchUp() async throws { try await catchUpSoon().value() }

    /// Begins to learn of the commits of other servers. Calls share a read of the log that is due and has not begun,
    /// which finds what preceded each of them.
    @discardableResult
    nonisolated func catchUpSoon() -> AsyncResult<Void> {
        let (reading, isNew) = dueReading.withLock { due in
            if let due { return (due, false) }
            let reading = AsyncResult<Void>()
            due = reading
            return (reading, true)
        }
        if isNew {
            thread.async { [self] in
                dueReading.withLock { $0 = nil }
                reading.resolve(Result { try assumeIsolated { try $0.poll() } })
            }
        }
        return reading
    }

    private func poll() throws {
        do {
            let connection = try session.connected()
            let clock = try connection.run(
                "SELECT clock FROM ferry.database WHERE partition=$1", [.integer(partition)]
            ).integer(0, 0)
            guard clock > known else { return noteReading() }
            let rows = try connection.run([
                PostgresStatement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
                PostgresStatement(
                    "SELECT clock, horizon FROM ferry.database WHERE partition=$1", [.integer(partition)]),
            ])
            guard let row = rows.last, row.count == 1 else { return session.rollBack() }
            let found = DatabaseRow(clock: row.integer(0, 0), horizon: row.integer(0, 1), layout: layout, now: 0)
            try publishForeign(through: found, connection)
            try connection.send([PostgresStatement("COMMIT")])
            noteReading()
        } catch {
            session.rollBack()
            forget()
            throw DocumentStoreError(ofPostgres: error)
        }
    }

    private func noteReading() { lastReading.withLock { $0 = now() } }

    /// Makes every later commit later than `time`.
    nonisolated func reserve(_ time: Int64) async throws {
        try await thread.run { [self] in
            try assumeIsolated { writer in
                if writer.known < time { try writer.moveClock(to: time) }
            }
        }
    }

    /// Makes every later commit later than `time`, also if this server has seen later ones, which the database lacks.
    nonisolated func advanceClock(to time: Int64) async throws {
        try await thread.run { [self] in try assumeIsolated { try $0.moveClock(to: time) } }
    }

    private func moveClock(to time: Int64) throws {
        do {
            _ = try retrying {
                try session.connected().run(
                    "UPDATE ferry.database SET clock=$2 WHERE partition=$1 AND clock<$2",
                    [.integer(partition), .integer(time)])
            }
        } catch {
            throw DocumentStoreError(ofPostgres: error)
        }
        try poll()
    }

    // MARK: Maintenance

    /// The statements that remove old changes, if it is time for that.
    private func pruning(at now: Int64) -> [PostgresStatement] {
        let pause = min(Self.pruningPause, configuration.retention / 4)
        guard environment.now() - lastPruning >= pause else { return [] }
        lastPruning = environment.now()
        let limit = now - configuration.retention.components.seconds * 1_000_000
        // The horizon moves in the transaction that deletes the rows.
        let sql = """
            WITH gone AS (
                DELETE FROM ferry.change WHERE (partition, time, number) IN (
                    SELECT partition, time, number FROM ferry.change WHERE partition=$1 AND time<=$2
                    ORDER BY time LIMIT $3)
                RETURNING time)
            UPDATE ferry.database SET horizon=greatest(horizon, (SELECT max(time) FROM gone))
            WHERE partition=$1 AND EXISTS(SELECT 1 FROM gone)
            """
        return [
            PostgresStatement(sql, [.integer(partition), .integer(limit), .integer(Self.pruningLimit)]),
            PostgresStatement(
                "DELETE FROM ferry.stream WHERE partition=$1 AND time<=$2", [.integer(partition), .integer(limit)]),
            PostgresStatement(
                "DELETE FROM ferry.batch WHERE partition=$1 AND time<=$2", [.integer(partition), .integer(limit)]),
        ]
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
            let isNew = try withExclusiveAccess { connection in
                try Composites.register(
                    suggestion.index, of: suggestion.collection, for: account,
                    limit: configuration.accountLimits.compositeIndexes, caches.numbers, connection)
            }
            if isNew { buildComposites() }
        } catch {
            // The next query suggests the index again.
            suggestions.remove(suggestion, for: account)
        }
    }

    /// Adds the entries of composite indexes that are not complete, a part at a time.
    nonisolated func buildCompositesSoon() {
        thread.async { [self] in assumeIsolated { $0.buildComposites() } }
    }

    private func buildComposites() {
        guard !queue.isClosed else { return }
        do {
            let hasMore = try withExclusiveAccess { try Composites.build(partition, $0) }
            // Lets commits run in between.
            if hasMore { buildCompositesSoon() }
        } catch {
            // The next start, or the next index, continues.
        }
    }

    /// Runs `body` in a transaction while no server applies a commit.
    private func withExclusiveAccess<Result>(_ body: (PostgresConnection) throws -> Result) throws -> Result {
        let result = try retrying {
            let connection = try session.connected()
            _ = try lock(connection)
            let result = try body(connection)
            try connection.run("COMMIT")
            return result
        }
        // Later transactions must not use what this one has changed.
        forget()
        return result
    }

    /// Returns a setting of the database; 0 if it was never set.
    func setting(_ name: String) throws -> Int64 {
        try session.connected().run(
            "SELECT value FROM ferry.setting WHERE partition=$1 AND name=$2", [.integer(partition), .text(name)]
        ).integer(0, 0)
    }

    func setSetting(_ name: String, _ value: Int64) throws {
        try session.connected().run(
            """
            INSERT INTO ferry.setting VALUES($1,$2,$3)
            ON CONFLICT (partition, name) DO UPDATE SET value=excluded.value
            """, [.integer(partition), .text(name), .integer(value)])
    }

    /// Refuses new commits, completes those submitted before, and closes the connection. Does not
    /// wait for a server that does not answer.
    nonisolated func close() async { await finish(queue.close()) }

    private func finish(_ rest: [CommitJob]) {
        if !rest.isEmpty { run(rest) }
        for job in waiting.take(where: { _ in true }) {
            job.continuation.resume(throwing: DocumentStoreError.closed)
        }
        session.close()
    }
}
