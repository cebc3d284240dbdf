package import DocumentModel
import FirestoreProtocol
import SQLite
package import SystemIO

/// A document store in one SQLite file (and its WAL).
///
/// One writer commits in groups. Readers use separate snapshots and never wait for the writer.
/// Opening replays nothing except what SQLite itself replays.
package final class SQLiteDocumentStore: SnapshotStore, OpenDocumentStore {
    package struct Configuration: Sendable {
        /// The age up to which `read_time` and resume tokens can be used.
        package var retention: Duration = .seconds(3600)
        package var readerCount = 3
        package var writerCacheKiB = 16 * 1024
        package var readerCacheKiB = 8 * 1024
        /// The time after which an unused transaction ends.
        package var transactionIdleLimit: Duration = .seconds(60)
        package var transactionLimit: Duration = .seconds(270)
        /// The time that a commit waits for a transaction's locks.
        package var lockWaitLimit: Duration = .seconds(15)
        /// The resources that one account may use.
        package var accountLimits = AccountLimits()
        /// The interval of heartbeats to idle listeners.
        package var heartbeat: Duration = .seconds(30)
        /// The number of changes queued for a listener that does not pull, beyond which changes are
        /// dropped and later read from the log.
        package var listenerBacklog = 1000
        /// The number of index entries that are collected before they are moved into the table
        /// together.
        package var indexBatch = 100_000
        /// The fields that are not indexed; nil for those with which the file was last opened.
        package var indexExemptions: Set<IndexExemption>?
        /// The fields of top-level documents that are repeated in the documents below which have
        /// them. A commit that changes such a field changes it there too.
        package var inheritedFields: Set<String> = []
        package var tuning = QueryTuning()
        /// Returns once everything written to the file before is on disk.
        package var synchronize: @Sendable (borrowing FileDescriptor) throws -> Void = { try $0.synchronizeContent() }
        /// Called for each document that listeners are not notified of because it cannot be read.
        package var onDamage: @Sendable (DocumentStoreError) -> Void = { _ in }
        /// Returns the time in microseconds since 1970.
        package var now: @Sendable () -> Int64 = StoreClock.system
        /// Returns the microseconds of a clock that never jumps, with which jumps of `now` are
        /// detected; nil if `now` is always believed.
        ///
        /// If not nil, a store does not open if `now` is more than a year after the newest commit.
        package var uptime: (@Sendable () -> Int64)?
        /// Whether to open even if the clock is implausible.
        package var acceptsClock = false
        /// Called when the clock jumps. Must be fast.
        package var onClockNews: @Sendable (ClockNews) -> Void = { _ in }
        package var environment = Environment.system

        package init() {}
    }

    package let database: DatabaseName
    let path: String
    let configuration: Configuration
    let clock: CommitClock
    package let transactions: TransactionRegistry
    package let hub: ListenHub
    let writer: CommitWriter
    package let readers: ReaderPool
    package let epoch: [UInt8]
    package let gap: ClosedRange<Int64>?
    private let heartbeat: Task<Void, Never>

    /// Opens the file, and creates it if necessary.
    package init(
        _ database: DatabaseName, path: String, configuration: Configuration = Configuration()
    ) async throws {
        self.database = database
        self.path = path
        self.configuration = configuration
        do {
            var settings = SQLiteConfiguration()
            settings.cacheKiB = configuration.writerCacheKiB
            // The log holds many groups before their pages are moved into the file, each page once.
            settings.automaticCheckpointPages = 8192
            // The publisher syncs the log while the writer continues.
            settings.synchronous = .normal
            let sqlite = try SQLiteDatabase(path: path, configuration: settings)
            try sqlite.migrate(DocumentSchema.component, DocumentSchema.migrations)
            let tables = DocumentTables(sqlite, name: database)
            if let exemptions = configuration.indexExemptions { try IndexExemption.set(exemptions, in: tables) }
            let index = PendingIndex(
                indexed: try tables.setting("indexed"), recovered: try IndexRecovery.pending(in: tables))
            epoch = try tables.epoch()
            let (start, end) = (try tables.setting("gap"), try tables.setting("gap end"))
            gap = start < end ? start + 1...end : nil
            let newest = try tables.setting("commit")
            if configuration.uptime != nil, !configuration.acceptsClock {
                try Self.checkClock(configuration.now(), newest: newest)
            }
            clock = CommitClock(
                persisted: try tables.setting("clock"), lastCommit: newest, uptime: configuration.uptime,
                onNews: configuration.onClockNews, now: configuration.now)
            hub = ListenHub(clock: clock, loads: max(1, configuration.readerCount))
            transactions = TransactionRegistry(
                limits: LockTable.Limits(
                    idle: configuration.transactionIdleLimit, total: configuration.transactionLimit,
                    lockWait: configuration.lockWaitLimit, account: configuration.accountLimits),
                environment: configuration.environment)
            let publisher = CommitPublisher(
                log: try Self.openLog(of: sqlite), synchronize: configuration.synchronize, listeners: hub,
                transactions: transactions, environment: configuration.environment)
            let writer = try CommitWriter(
                IndexWriter(tables: tables, pending: index, batch: configuration.indexBatch), clock: clock,
                transactions: transactions, publisher: publisher,
                configuration: CommitWriter.Configuration(
                    retention: configuration.retention,
                    compositesOfAccount: configuration.accountLimits.compositeIndexes,
                    inheritedFields: configuration.inheritedFields, environment: configuration.environment))
            self.writer = writer
            settings.cacheKiB = configuration.readerCacheKiB
            var made = try (0...max(1, configuration.readerCount)).map { _ in
                let sqlite = try SQLiteDatabase(path: path, configuration: settings.readOnly)
                let tables = DocumentTables(sqlite, name: database, tuning: configuration.tuning)
                tables.onIndexSuggestion = { [weak writer] in writer?.requestComposite($1, of: $0, for: $2) }
                tables.onDamage = { [report = configuration.onDamage] in report(DocumentStoreError($0)) }
                return DocumentReader(tables, index: index)
            }
            let reserve = made.removeLast()
            readers = ReaderPool(made, reserve: reserve)
        } catch {
            throw DocumentStoreError(error)
        }
        let (hub, transactions, pause) = (hub, transactions, configuration.heartbeat / 4)
        heartbeat = Task { [environment = configuration.environment] in
            while (try? await environment.sleep(for: pause)) != nil {
                hub.tick(limit: 4)
                transactions.expire()
            }
        }
        try await writer.start()
        try await writer.barrier()
        try await alignInheritedFields()
    }

    deinit { heartbeat.cancel() }

    /// The time by which the newest commit is ahead of the clock because the clock was wrong once;
    /// nil if it is not ahead.
    package var leadOfCommits: Duration? {
        let (newest, wall) = (clock.lastAssigned, configuration.now())
        return ClockGuard.isAhead(newest: newest, wall: wall) ? .microseconds(newest - wall) : nil
    }

    private static func checkClock(_ wall: Int64, newest: Int64) throws {
        guard !ClockGuard.isPlausible(wall: wall, newest: newest) else { return }
        let message =
            "The system's clock is at \(Timestamp(microseconds: wall)), but the newest commit was at "
            + "\(Timestamp(microseconds: newest)). Set the clock. If it is right, start once with --accept-clock: commit times "
            + "never go back."
        throw DocumentStoreError(.failedPrecondition, message, cause: message)
    }

    /// Opens the file to which commits are appended, for syncing it. Its directory entry is on disk
    /// afterwards.
    private static func openLog(of sqlite: SQLiteDatabase) throws -> FileDescriptor {
        let directory = sqlite.path.lastIndex(of: "/").map { sqlite.path[...$0] } ?? "."
        try FileDescriptor(path: String(directory), [.read, .directory]).synchronize()
        return try FileDescriptor(path: sqlite.logPath, .read)
    }

    /// Completes the submitted commits, ends the listeners, and closes the file.
    package func close() async {
        heartbeat.cancel()
        hub.closeAll()
        readers.close()
        await writer.close()
    }

    // MARK: The engine below `SnapshotStore`

    package var listenerBacklog: Int { configuration.listenerBacklog }
    package var wallTime: Int64 { clock.wallTime }

    package func write(
        _ writes: [Write], transaction: TransactionID?, at position: StreamPosition?, guarding: CommitGuard?
    ) async throws -> CommitResult {
        try await writer.commit(writes, transaction: transaction, at: position, guarding: guarding)
    }

    package func retryWaiting(for transaction: TransactionID) { writer.retryWaiting(for: transaction) }

    package func readTime(visible: Int64) -> Int64 {
        let (time, wantsLease) = clock.readTime(visible: visible)
        if wantsLease { writer.requestLease() }
        return time
    }

    package func prepareReading(at time: Int64) async throws {
        guard time <= max(clock.wallTime, clock.lastIssued) else {
            throw DocumentStoreError(.invalidArgument, "The requested 'read_time' cannot be in the future.")
        }
        while true {
            switch clock.reserve(time) {
            case .reserved: return
            case .needsLease:
                try await writer.renewLease(through: time)
                try await writer.barrier()
            case .needsBarrier: try await writer.barrier()
            }
        }
    }

    package func awaitAdmittedCommits() async throws {
        if clock.lastAssigned > clock.published { try await writer.barrier() }
    }

    /// Every acknowledged commit has been published.
    package func catchUp() {}
}
