import DocumentStore
import PostgreSQL

/// A connection that is made again after it was lost. Used on one thread at a time.
///
/// `@unchecked Sendable`: moves between threads only together with the work that uses it.
final class PostgresSession: @unchecked Sendable {
    private let configuration: PostgresConfiguration
    private var connection: PostgresConnection?
    /// The number of connections so far.
    private(set) var generation = 0

    init(_ configuration: PostgresConfiguration) {
        self.configuration = configuration
    }

    /// Returns the connection, which is made if there is none.
    func connected() throws(PostgresError) -> PostgresConnection {
        if let connection, !connection.isBroken { return connection }
        connection = nil
        let made = try PostgresConnection(configuration)
        // A server that stops in the middle of a transaction must not block the others for long.
        try made.run("SET idle_in_transaction_session_timeout = '10s'")
        connection = made
        generation += 1
        return made
    }

    /// Leaves a transaction after an error.
    func rollBack() {
        guard let connection, !connection.isBroken else { return }
        _ = try? connection.run("ROLLBACK")
    }

    /// Closes the connection.
    func close() { connection = nil }
}

extension DocumentStoreError {
    /// Creates the error that reports an error of PostgreSQL, or of another layer, to clients.
    init(ofPostgres error: any Error) {
        guard let error = error as? PostgresError else {
            self.init(error)
            return
        }
        let (code, message): (Code, String) =
            if error.isOutOfResources {
                (.resourceExhausted, "The server's disk or memory is full; nothing of this change was kept.")
            } else if error.isDisconnected || error.isReadOnly || error.state?.hasPrefix("40") == true
                || error.state?.hasPrefix("25") == true || error.state?.hasPrefix("57") == true
            {
                (.unavailable, "The server cannot use its data now; its log has the reason.")
            } else {
                (.internal, "The server failed; its log has the reason.")
            }
        self.init(code, message, cause: error.description)
    }
}
