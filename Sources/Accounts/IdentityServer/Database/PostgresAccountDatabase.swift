import PostgreSQL
import Synchronization
import SystemIO

/// The accounts in PostgreSQL, which several servers may use at once.
///
/// Transactions have the isolation level READ COMMITTED. After a lost connection a transaction is
/// run again, unless its COMMIT may have succeeded.
final class PostgresAccountDatabase: AccountDatabase {
    private let workers: [PostgresAccountWorker]
    private let turns: TurnPool
    private let environment: Environment
    private let onChange: @Sendable () -> Void

    /// The time for which a transaction is tried again, for example while a standby takes over.
    private static let patience = Duration.seconds(20)
    private static let workerCount = 4

    /// Connects, and creates the tables if necessary.
    ///
    /// - Parameter onChange: Called after a transaction that other servers are to be notified of.
    init(
        _ server: PostgresConfiguration, environment: Environment, onChange: @escaping @Sendable () -> Void
    ) throws(PostgresError) {
        self.environment = environment
        self.onChange = onChange
        try PostgresSession(server).connected().migrate(AccountSchema.name, AccountSchema.migrations)
        workers = (0..<Self.workerCount).map { _ in PostgresAccountWorker(server) }
        turns = TurnPool(workers: Self.workerCount)
    }

    func transaction<Result: Sendable>(
        _ body: @escaping @Sendable (any AccountTransaction) throws -> Result
    ) async throws -> Result { try await run(inTransaction: true, body) }

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any AccountTransaction) throws -> Result
    ) async throws -> Result { try await run(inTransaction: false, body) }

    private func run<Result: Sendable>(
        inTransaction: Bool, _ body: @escaping @Sendable (any AccountTransaction) throws -> Result
    ) async throws -> Result {
        let end = environment.now() + Self.patience
        var pause = Duration.milliseconds(10)
        while true {
            do {
                let (result, notifies) = try await turns.run(for: nil) {
                    try await workers[$0].run(inTransaction: inTransaction, body)
                }
                if notifies { onChange() }
                return result
            } catch let error as PostgresError where error.isTransient && environment.now() < end {
                try await environment.sleep(for: pause)
                pause = min(pause * 2, .milliseconds(500))
            } catch let error as PostgresError {
                throw AccountsUnavailable(cause: error)
            }
        }
    }

    var linksExpression: String {
        """
        (SELECT json_agg(json_build_array(l.provider, l.subject, l.email, l.display_name, l.photo_url))::text \
        FROM provider_link l WHERE l.account=account.id)
        """
    }

    var isShared: Bool { true }

    func close() async { for worker in workers { await worker.close() } }
}

/// The error for accounts that cannot be read or changed now. What became of a change is unknown.
struct AccountsUnavailable: Error, CustomStringConvertible {
    let cause: PostgresError

    var description: String { "The accounts cannot be used now. \(cause)" }
}

/// A connection and its thread.
private final class PostgresAccountWorker: Sendable {
    private let thread = SerialThread()
    private let session: Mutex<PostgresSession>

    init(_ server: PostgresConfiguration) {
        session = Mutex(
            PostgresSession(server, preparation: [PostgresStatement("SET search_path = \(AccountSchema.name)")]))
    }

    deinit { thread.stop() }

    /// Runs a transaction, or queries outside one. Throws a `PostgresError` that is transient only if
    /// nothing was committed.
    func run<Result: Sendable>(
        inTransaction: Bool, _ body: @escaping @Sendable (any AccountTransaction) throws -> Result
    ) async throws -> (result: Result, notifies: Bool) {
        try await thread.run { [self] in try session.withLock { try Self.run(body, inTransaction: inTransaction, $0) } }
    }

    private static func run<Result>(
        _ body: (any AccountTransaction) throws -> Result, inTransaction: Bool, _ session: PostgresSession
    ) throws -> (result: Result, notifies: Bool) {
        do {
            let transaction = Transaction(try session.connected())
            if inTransaction { try transaction.connection.send([PostgresStatement("BEGIN")]) }
            let result = try body(transaction)
            if inTransaction { try commit(transaction) }
            return (result, transaction.notifies)
        } catch let error as PostgresError where error.isConstraint {
            session.rollBack()
            throw ConstraintViolation(cause: error)
        } catch {
            session.rollBack()
            // The former primary is a standby now.
            if (error as? PostgresError)?.isReadOnly == true { session.close() }
            throw error
        }
    }

    private static func commit(_ transaction: Transaction) throws {
        do throws(PostgresError) {
            try transaction.connection.run("COMMIT")
        } catch {
            guard error.isTransient, transaction.hasWritten else { throw error }
            throw AccountsUnavailable(cause: error)
        }
    }

    func close() async { session.withLock { $0.close() } }
}

private final class Transaction: AccountTransaction {
    let connection: PostgresConnection
    private(set) var hasWritten = false
    private(set) var notifies = false

    init(_ connection: PostgresConnection) {
        self.connection = connection
    }

    func execute(_ sql: String, _ values: [StoredValue]) throws -> Int {
        hasWritten = true
        return try connection.run(Self.numbered(sql), values.map(\.postgres)).changedRowCount
    }

    func query(_ sql: String, _ values: [StoredValue], _ body: (StoredRow) throws -> Void) throws {
        let result = try connection.run(Self.numbered(sql), values.map(\.postgres))
        for row in 0..<result.count {
            try body(StoredRow(values: (0..<result.columnCount).map { StoredValue(result.value(row, $0)) }))
        }
    }

    func notifyServers() throws {
        guard !notifies else { return }
        notifies = true
        _ = try execute("UPDATE generation SET value=value+1", [])
    }

    /// Returns a statement with `$1`, `$2`, … in place of the question marks.
    private static func numbered(_ sql: String) -> String {
        let parts = sql.split(separator: "?", omittingEmptySubsequences: false)
        var numbered = ""
        for (index, part) in parts.enumerated() {
            if index > 0 { numbered += "$\(index)" }
            numbered += part
        }
        return numbered
    }
}

extension StoredValue {
    fileprivate init(_ value: PostgresValue) {
        self =
            switch value {
            case .integer(let number): .integer(number)
            case .text(let text): .text(text)
            case .bytes(let bytes): .blob(bytes)
            case .null, .integers, .blobs, .texts: .null
            }
    }

    fileprivate var postgres: PostgresValue {
        switch self {
        case .null: .null
        case .integer(let number): .integer(number)
        // PostgreSQL has no NUL character in texts.
        case .text(let text): .text(text.utf8.contains(0) ? text.replacing("\0", with: "\u{FFFD}") : text)
        case .blob(let bytes): .bytes(bytes)
        }
    }
}
