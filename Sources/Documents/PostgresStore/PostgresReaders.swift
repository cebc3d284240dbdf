package import DocumentModel
package import DocumentStore
import FirestoreProtocol
import PostgreSQL
import Synchronization
import SystemIO

/// A server lacks commits up to a time that were acknowledged. Another server may have taken its place without its
/// knowledge, or the commits are lost.
private struct MissingCommits: Error {
    let time: Int64
}

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
                try read(state, notBefore: published) { snapshot, visible in
                    try body(snapshot(account, damage), visible)
                }
            }
        }
    }

    /// Performs reads with one snapshot.
    func perform(_ reads: [ShortRead]) async throws {
        try await thread.run { [self] in
            state.withLock { state in
                var left = reads[...]
                do {
                    let names = Set(reads.compactMap(\.name)).sorted()
                    try readOnce(state, notBefore: reads.map(\.published).max() ?? 0, names) { snapshot, visible in
                        while let read = left.first {
                            do { try read.perform(snapshot(read.account, .fails), visible) } catch let error
                                as PostgresError
                            {
                                // The transaction has ended with it.
                                throw error
                            } catch {
                                read.fail(error)
                            }
                            left = left.dropFirst()
                        }
                    }
                } catch {
                    // Without a server the others fail as the first one does.
                    var failure: (any Error)?
                    for read in left {
                        if let failure { read.fail(failure) } else { failure = perform(alone: read, state) }
                    }
                }
            }
        }
    }

    /// Performs a read, and returns the error if there is no server for it.
    private func perform(alone read: ShortRead, _ state: State) -> (any Error)? {
        do {
            try self.read(state, notBefore: read.published) { snapshot, visible in
                try read.perform(snapshot(read.account, .fails), visible)
            }
            return nil
        } catch {
            read.fail(error)
            return error is MissingCommits || (error as? PostgresError)?.isDisconnected == true ? error : nil
        }
    }

    private typealias MakeSnapshot = (_ account: String?, DamageHandling) -> any StoreSnapshot

    private func read<Result>(
        _ state: State, notBefore published: Int64, _ body: (MakeSnapshot, _ visible: Int64) throws -> Result
    ) throws -> Result {
        do {
            return try readOnce(state, notBefore: published, [], body)
        } catch let error where error is MissingCommits || (error as? PostgresError)?.isTransient == true {
            // The connection may have been lost long ago, for example because the server was
            // restarted or another one has taken its place.
            return try readOnce(state, notBefore: published, [], body)
        }
    }

    /// Runs `body` with one snapshot, and reads the documents `names` together with its time.
    private func readOnce<Result>(
        _ state: State, notBefore published: Int64, _ names: [DocumentName],
        _ body: (MakeSnapshot, _ visible: Int64) throws -> Result
    ) throws -> Result {
        let connection = try state.session.connected()
        state.numbers.use(connection)
        do {
            let rows = try connection.run(
                [
                    PostgresStatement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
                    PostgresStatement(
                        "SELECT clock, horizon FROM ferry.database WHERE partition=$1", [.integer(partition)]),
                ] + (names.isEmpty ? [] : [StoredRow.reading(names, state.numbers)]))
            guard let row = rows.dropFirst().first, row.count == 1 else {
                throw PostgresError("The row of the database \(database) is gone.")
            }
            guard row.integer(0, 0) >= published else {
                // Another server has taken its place. It may still be reachable, and not know that.
                state.session.close()
                throw MissingCommits(time: published)
            }
            var present: [DocumentName: EncodedDocument?] = [:]
            if let documents = rows.dropFirst(2).first {
                let found = StoredRow.rows(names, in: documents, state.numbers)
                for name in names { present[name] = .some(found[name]?.document) }
            }
            let result = try body(
                { account, damage in
                    let snapshot = PostgresSnapshot(
                        database, connection, numbers: state.numbers, horizon: row.integer(0, 1), tuning: tuning,
                        present: present, onIndexSuggestion: onIndexSuggestion, onDamage: onDamage)
                    (snapshot.account, snapshot.damage) = (account, damage)
                    return snapshot
                }, row.integer(0, 0))
            try connection.send([PostgresStatement("COMMIT")])
            return result
        } catch {
            state.session.rollBack()
            throw error
        }
    }

    func close() { state.withLock { $0.session.close() } }
}

/// A short read that waits for a connection.
private final class ShortRead: Sendable {
    let account: String?
    /// The document that is read, if it is only one. A document has at most a mebibyte, so that the memory of those
    /// that are read together is bounded.
    let name: DocumentName?
    /// The snapshot must contain all commits up to this time.
    let published: Int64
    private let body: @Sendable (_ snapshot: any StoreSnapshot, _ visible: Int64) throws -> Void
    /// Ends the read with an error.
    let fail: @Sendable (any Error) -> Void
    private let isTaken = Atomic(false)

    /// - Parameter outcome: Receives what `body` returns.
    init<Result: Sendable>(
        _ names: [DocumentName], for account: String?, notBefore published: Int64, _ outcome: AsyncResult<Result>,
        _ body: @escaping @Sendable (_ snapshot: any StoreSnapshot, _ visible: Int64) throws -> Result
    ) {
        (self.account, self.published) = (account, published)
        name = names.count == 1 ? names.first : nil
        self.body = { outcome.resolve(.success(try body($0, $1))) }
        fail = { outcome.resolve(.failure($0)) }
    }

    /// Returns whether the caller performs the read, which only one does.
    func take() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }

    /// Runs the read. An error of the database is thrown, after which the read may be repeated.
    func perform(_ snapshot: any StoreSnapshot, _ visible: Int64) throws { try body(snapshot, visible) }
}

/// Short reads in the order of their arrival.
private struct ShortReads {
    private var reads: [ShortRead] = []
    private var start = 0

    mutating func append(_ read: ShortRead) { reads.append(read) }

    /// Takes a share of the reads, so that the other workers have as many.
    mutating func take(atMost limit: Int, workers: Int) -> [ShortRead] {
        let count = min(limit, (reads.count - start) / workers)
        var taken: [ShortRead] = []
        while taken.count < count, start < reads.count {
            if reads[start].take() { taken.append(reads[start]) }
            start += 1
        }
        if 2 * start >= reads.count {
            reads.removeFirst(start)
            start = 0
        }
        return taken
    }
}

/// Connections for reads that share the work. Short reads have their own, so that they never wait
/// for long ones. Those that wait at the same time share a snapshot, since beginning and ending one costs as much
/// as a read.
package final class PostgresReaders: SnapshotReaders {
    private let long: [PostgresReader]
    private let short: [PostgresReader]
    private let longTurns: TurnPool
    private let shortTurns: TurnPool
    private let longMetrics: PoolMetrics
    private let shortMetrics: PoolMetrics
    private let waiting = Mutex(ShortReads())
    private let clock: PublishedClock
    private let confirm: @Sendable (_ time: Int64) async throws -> Void

    /// The maximum number of short reads that share a snapshot.
    private static let shared = 16

    /// - Parameter confirm: Commits that all later commits are later than a time, which only a server can whose
    ///   commits count.
    init(
        count: Int, _ database: DatabaseName, partition: Int64, _ configuration: PostgresConfiguration,
        _ clock: PublishedClock, tuning: QueryTuning, metrics: Metrics?, environment: Environment,
        confirm: @escaping @Sendable (_ time: Int64) async throws -> Void,
        onIndexSuggestion: @escaping @Sendable (Int64, CompositeIndex, String?) -> Void,
        onDamage: @escaping @Sendable (StoredDataError) -> Void
    ) {
        self.clock = clock
        self.confirm = confirm
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
        ofFew names: [DocumentName]?, for account: String?, damage: DamageHandling,
        _ body: @escaping @Sendable (_ snapshot: any StoreSnapshot, _ visible: Int64) throws -> Result
    ) async throws -> Result {
        do {
            return try await confirming {
                if let names { return try await read(few: names, for: account, body) }
                let begin = longMetrics.begin()
                return try await longTurns.run(for: account) { reader in
                    try await longMetrics.read(since: begin) {
                        try await long[reader].read(for: account, damage, body)
                    }
                }
            }
        } catch {
            throw DocumentStoreError(ofPostgres: error)
        }
    }

    /// Repeats a read that found commits missing, once it is certain that they are lost. With synchronous replication a
    /// former primary that does not know that it has been replaced cannot commit, and an answer of its would be old.
    /// Without it such a primary commits, and answers.
    private func confirming<Result>(_ read: () async throws -> Result) async throws -> Result {
        do {
            do { return try await read() } catch let error as MissingCommits {
                try await confirm(error.time)
                return try await read()
            }
        } catch is MissingCommits {
            throw PostgresError("The server lacks commits that it has acknowledged.")
        }
    }

    private func read<Result: Sendable>(
        few names: [DocumentName], for account: String?,
        _ body: @escaping @Sendable (_ snapshot: any StoreSnapshot, _ visible: Int64) throws -> Result
    ) async throws -> Result {
        let outcome = AsyncResult<Result>()
        let read = ShortRead(names, for: account, notBefore: clock.separatingTime(), outcome, body)
        waiting.withLock { $0.append(read) }
        let begin = shortMetrics.begin()
        try await shortTurns.run(for: account) { reader in
            // The account's own read comes with its turn, whatever others are waiting for.
            guard read.take() else { return }
            let reads = [read] + waiting.withLock { $0.take(atMost: Self.shared - 1, workers: short.count) }
            try await shortMetrics.read(since: begin) { try await short[reader].perform(reads) }
        }
        return try await outcome.value()
    }

    func close() {
        for reader in long + short { reader.close() }
    }
}
