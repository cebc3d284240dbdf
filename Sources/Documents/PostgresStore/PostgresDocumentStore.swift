import Cryptography
package import DocumentModel
package import DocumentStore
package import PostgreSQL
import Synchronization
package import SystemIO

/// A document store on PostgreSQL, which several servers can use at once.
///
/// Every server may apply any commit. The order of commits is that of the clock in the database's
/// row, which a writer locks for its transaction, so a commit's time is known before it is
/// acknowledged and no reader ever finds an earlier one later. Listeners learn of other servers'
/// commits from the log of changes: as soon as they notify, and at the latest after `pollInterval`.
package final class PostgresDocumentStore: SnapshotStore, OpenDocumentStore {
    package struct Configuration: Sendable {
        package var transactionIdleLimit = Duration.seconds(60)
        package var transactionLimit = Duration.seconds(270)
        package var lockWaitLimit = Duration.seconds(15)
        package var accountLimits = AccountLimits()
        /// The time for which replaced versions are kept.
        package var retention = Duration.seconds(3600)
        /// The interval after which idle listeners get the time.
        package var heartbeat = Duration.seconds(30)
        /// The time after which commits of other servers are noticed at the latest.
        package var pollInterval = Duration.milliseconds(200)
        package var listenerBacklog = 1000
        /// The number of connections for reads.
        package var readerCount = 4
        package var tuning = QueryTuning()
        package var indexExemptions: Set<IndexExemption>?
        package var inheritedFields: Set<String> = []
        /// Called for documents that cannot be read.
        package var onDamage: @Sendable (any Error) -> Void = { _ in }
        /// Returns the time in microseconds since 1970.
        package var now: @Sendable () -> Int64 = StoreClock.system
        package var environment = Environment.system
        /// The other servers, which are notified of commits and notify of theirs; nil for none.
        package var peers: PostgresPeers?
        /// The metrics that get the age of the last reading of the log, and the number of servers.
        package var metrics: Metrics?

        package init() {}
    }

    package let database: DatabaseName
    package let epoch: [UInt8]
    package let transactions: TransactionRegistry
    package let hub: ListenHub
    package let readers: PostgresReaders
    private let configuration: Configuration
    private let clock: PublishedClock
    private let writer: PostgresWriter
    private let heartbeat: Task<Void, Never>
    private let polling: Task<Void, Never>

    private static let logAge = Metrics.Metric(
        "ferry_log_age_seconds", "Time since the commits of other servers were last read.")
    private static let servers = Metrics.Metric("ferry_servers", "Servers that use the database, this one included.")

    package var listenerBacklog: Int { configuration.listenerBacklog }

    /// Opens a database, and creates it and the tables if necessary.
    ///
    /// - Throws: `DocumentStoreError`.
    package init(
        _ database: DatabaseName, _ server: PostgresConfiguration, configuration: Configuration = Configuration()
    ) async throws {
        self.database = database
        self.configuration = configuration
        let session = PostgresSession(server)
        let partition: Int64
        let known: Int64
        do {
            let connection = try session.connected()
            try connection.migrate("ferry", PostgresSchema.migrations)
            (partition, epoch) = try PostgresSchema.database(
                database.description, newEpoch: RandomBytes.make(8), connection)
            if let exemptions = configuration.indexExemptions {
                try Exemptions.set(exemptions, partition, connection)
            }
            known = try connection.run(
                "SELECT clock FROM ferry.database WHERE partition=$1", [.integer(partition)]
            ).integer(0, 0)
        } catch {
            throw DocumentStoreError(ofPostgres: error)
        }
        clock = PublishedClock(known)
        hub = ListenHub(clock: clock, loads: max(1, configuration.readerCount))
        transactions = TransactionRegistry(
            limits: LockTable.Limits(
                idle: configuration.transactionIdleLimit, total: configuration.transactionLimit,
                lockWait: configuration.lockWaitLimit, account: configuration.accountLimits),
            environment: configuration.environment)
        let writer = PostgresWriter(
            database, partition: partition, session: session, known: known, transactions: transactions, hub: hub,
            configuration: configuration)
        self.writer = writer
        readers = PostgresReaders(
            count: configuration.readerCount, database, partition: partition, server, clock,
            tuning: configuration.tuning, metrics: configuration.metrics, environment: configuration.environment,
            confirm: { [weak writer] in try await writer?.advanceClock(to: $0) },
            onIndexSuggestion: { [weak writer] in writer?.requestComposite($1, of: $0, for: $2) },
            onDamage: { [report = configuration.onDamage] in report(DocumentStoreError($0)) })
        let (hub, transactions, pause) = (hub, transactions, configuration.heartbeat / 4)
        let environment = configuration.environment
        heartbeat = Task {
            while (try? await environment.sleep(for: pause)) != nil {
                hub.tick(limit: 4)
                transactions.expire()
            }
        }
        configuration.peers?.onNotification(writer.topic) { [weak writer] in writer?.catchUpSoon() }
        configuration.metrics?.gauge(Self.logAge, ["database": database.database]) { [weak writer] in
            writer?.secondsSinceReading ?? 0
        }
        if let peers = configuration.peers {
            configuration.metrics?.gauge(Self.servers) { [weak peers] in Double((peers?.count ?? 0) + 1) }
        }
        let interval = configuration.pollInterval
        polling = Task { [weak writer] in
            while (try? await environment.sleep(for: interval)) != nil { writer?.catchUpSoon() }
        }
        writer.buildCompositesSoon()
        try await alignInheritedFields()
    }

    deinit {
        heartbeat.cancel()
        polling.cancel()
    }

    private func alignInheritedFields() async throws {
        for field in configuration.inheritedFields.sorted() {
            let setting = "inherits \(field)"
            do {
                guard try await writer.setting(setting) == 0 else { continue }
                try await alignInherited(field)
                try await writer.setSetting(setting, 1)
            } catch {
                throw DocumentStoreError(ofPostgres: error)
            }
        }
    }

    /// Commit times follow the clock of the database server, which they are not compared with.
    package var leadOfCommits: Duration? { nil }

    /// Returns the number of documents of each user, also while servers run.
    ///
    /// - Throws: `DocumentStoreError`.
    package static func documentCounts(
        _ database: DatabaseName, _ server: PostgresConfiguration
    ) throws -> [String: Int64] {
        do {
            let rows = try PostgresSession(server).connected().run(
                """
                SELECT u.owner, u.documents FROM ferry.usage u JOIN ferry.database d USING(partition) WHERE d.name=$1
                """, [.text(database.description)])
            let counts = (0..<rows.count).map { (rows.text($0, 0), rows.integer($0, 1)) }
            return Dictionary(counts, uniquingKeysWith: { first, _ in first })
        } catch {
            throw DocumentStoreError(ofPostgres: error)
        }
    }

    /// Completes the submitted commits, ends the listeners, and closes the connections.
    package func close() async {
        heartbeat.cancel()
        polling.cancel()
        hub.closeAll()
        await writer.close()
        readers.close()
    }

    // MARK: The engine below `SnapshotStore`

    package var wallTime: Int64 { configuration.now() }

    package func readTime(visible: Int64) -> Int64 { visible }

    package func write(
        _ writes: [Write], transaction: TransactionID?, at position: StreamPosition?, guarding: CommitGuard?
    ) async throws -> CommitResult {
        try await writer.commit(writes, transaction: transaction, at: position, guarding: guarding)
    }

    package func retryWaiting(for transaction: TransactionID) { writer.retryWaiting(for: transaction) }

    package func prepareReading(at time: Int64) async throws {
        guard time > clock.separatingTime() else { return }
        guard time <= wallTime else {
            // Another server may have a clock that is ahead.
            try await writer.catchUp()
            guard time <= clock.separatingTime() else {
                throw DocumentStoreError(.invalidArgument, "The requested 'read_time' cannot be in the future.")
            }
            return
        }
        try await writer.reserve(time)
    }

    package func awaitAdmittedCommits() async throws { try await writer.barrier() }

    package func catchUp() async throws { try await writer.catchUp() }
}

/// The time up to which listeners of this server have been notified.
final class PublishedClock: ListenClock {
    private let published: Mutex<Int64>

    init(_ time: Int64) {
        published = Mutex(time)
    }

    func separatingTime() -> Int64 { published.withLock { $0 } }

    func publish(newest: Int64?, lease: Int64?) {
        guard let newest else { return }
        published.withLock { $0 = max($0, newest) }
    }
}
