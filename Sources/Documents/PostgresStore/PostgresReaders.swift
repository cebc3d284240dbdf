import DocumentModel
package import DocumentStore
import PostgreSQL
import Synchronization
import SystemIO

/// A connection for reads, and its thread.
private final class PostgresReader: Sendable {
    private struct State {
        let session: PostgresSession
        let numbers: PathNumbers
    }

    private let thread = SerialThread()
    private let state: Mutex<State>
    private let database: DatabaseName
    private let partition: Int64
    private let tuning: QueryTuning
    private let onIndexSuggestion: @Sendable (Int64, CompositeIndex, String?) -> Void
    private let onDamage: @Sendable (StoredDataError) -> Void
    private let clock: PublishedClock

    init(
        _ database: DatabaseName, partition: Int64, _ configuration: PostgresConfiguration, _ clock: PublishedClock,
        tuning: QueryTuning,
        onIndexSuggestion: @escaping @Sendable (Int64, CompositeIndex, String?) -> Void,
        onDamage: @escaping @Sendable (StoredDataError) -> Void
    ) {
        self.database = database
        self.partition = partition
        self.tuning = tuning
        self.onIndexSuggestion = onIndexSuggestion
        self.onDamage = onDamage
        self.clock = clock
        state = Mutex(
            State(session: PostgresSession(configuration), numbers: PathNumbers(partition: partition)))
    }

    deinit { thread.stop() }

    /// Runs `body` on the reader's thread with one snapshot. `visible` is the time of its newest
    /// commit.
    func read<Result: Sendable>(
        for account: String?, _ damage: DamageHandling,
        _ body: @escaping @Sendable (_ snapshot: any StoreSnapshot, _ visible: Int64) throws -> Result
    ) async throws -> Result {
        let published = clock.separatingTime()
        return try await thread.run { [self] in
            try state.withLock { state in
                do {
                    return try read(state, account, damage, notBefore: published, body)
                } catch let error as PostgresError where error.isTransient {
                    // The connection may have been lost long ago, for example because the server was
                    // restarted.
                    return try read(state, account, damage, notBefore: 0, body)
                }
            }
        }
    }

    private func read<Result: Sendable>(
        _ state: State, _ account: String?, _ damage: DamageHandling, notBefore published: Int64,
        _ body: @Sendable (_ snapshot: any StoreSnapshot, _ visible: Int64) throws -> Result
    ) throws -> Result {
        let connection = try state.session.connected()
        do {
            let rows = try connection.run([
                PostgresStatement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
                PostgresStatement(
                    "SELECT clock, horizon FROM ferry.database WHERE partition=$1", [.integer(partition)]),
            ])
            guard let row = rows.last, row.count == 1 else {
                throw PostgresError("The row of the database \(database) is gone.")
            }
            guard row.integer(0, 0) >= published else {
                // Another server has taken its place. It may still be reachable, and not know that.
                state.session.close()
                throw PostgresError("The server lacks commits that it has acknowledged.")
            }
            let snapshot = PostgresSnapshot(
                database, connection, numbers: state.numbers, horizon: row.integer(0, 1), tuning: tuning,
                onIndexSuggestion: onIndexSuggestion, onDamage: onDamage)
            (snapshot.account, snapshot.damage) = (account, damage)
            let result = try body(snapshot, row.integer(0, 0))
            try connection.send([PostgresStatement("COMMIT")])
            return result
        } catch {
            state.session.rollBack()
            throw error
        }
    }

    func close() { state.withLock { $0.session.close() } }
}

/// Connections for reads that share the work. Short reads have their own, so that they never wait
/// for long ones.
package final class PostgresReaders: SnapshotReaders {
    private let long: [PostgresReader]
    private let short: [PostgresReader]
    private let longTurns: TurnPool
    private let shortTurns: TurnPool
    private let longMetrics: PoolMetrics
    private let shortMetrics: PoolMetrics

    init(
        count: Int, _ database: DatabaseName, partition: Int64, _ configuration: PostgresConfiguration,
        _ clock: PublishedClock, tuning: QueryTuning, metrics: Metrics?, environment: Environment,
        onIndexSuggestion: @escaping @Sendable (Int64, CompositeIndex, String?) -> Void,
        onDamage: @escaping @Sendable (StoredDataError) -> Void
    ) {
        let make = { (_: Int) in
            PostgresReader(
                database, partition: partition, configuration, clock, tuning: tuning,
                onIndexSuggestion: onIndexSuggestion, onDamage: onDamage)
        }
        long = (0..<max(1, count)).map(make)
        short = (0..<max(1, count)).map(make)
        longTurns = TurnPool(workers: long.count)
        shortTurns = TurnPool(workers: short.count)
        longMetrics = PoolMetrics("long", connections: long.count, metrics, environment: environment)
        shortMetrics = PoolMetrics("short", connections: short.count, metrics, environment: environment)
    }

    package func read<Result: Sendable>(
        isShort: Bool, for account: String?, damage: DamageHandling,
        _ body: @escaping @Sendable (_ snapshot: any StoreSnapshot, _ visible: Int64) throws -> Result
    ) async throws -> Result {
        let (readers, turns) = isShort ? (short, shortTurns) : (long, longTurns)
        let metrics = isShort ? shortMetrics : longMetrics
        let begin = metrics.begin()
        do {
            return try await turns.run(for: account) { reader in
                try await metrics.read(since: begin) {
                    try await readers[reader].read(for: account, isShort ? .fails : damage, body)
                }
            }
        } catch {
            throw DocumentStoreError(ofPostgres: error)
        }
    }

    func close() {
        for reader in long + short { reader.close() }
    }
}
