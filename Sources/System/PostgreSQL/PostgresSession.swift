/// A connection that is made again after it was lost. Used on one thread at a time.
///
/// `@unchecked Sendable`: moves between threads only together with the work that uses it.
package final class PostgresSession: @unchecked Sendable {
    private let configuration: PostgresConfiguration
    private let preparation: [PostgresStatement]
    private var connection: PostgresConnection?
    /// The server of the connection before, which is tried last.
    private var former: PostgresHost?
    /// The number of connections so far.
    private(set) package var generation = 0

    /// Creates a session without a connection.
    ///
    /// - Parameter preparation: The statements to run first on each connection.
    package init(_ configuration: PostgresConfiguration, preparation: [PostgresStatement] = []) {
        self.configuration = configuration
        // A server that stops in the middle of a transaction must not block the others for long.
        self.preparation =
            [
                PostgresStatement("SET idle_in_transaction_session_timeout = '10s'"),
                // A statement that waits for a lock ends soon after its connection was given up.
                PostgresStatement("SET client_connection_check_interval = '5s'"),
            ] + preparation
    }

    /// Returns the connection, which is made if there is none.
    ///
    /// The server of the connection that was lost is tried last. It may still accept connections
    /// although another has taken its place.
    package func connected() throws(PostgresError) -> PostgresConnection {
        if let connection, !connection.isBroken { return connection }
        close()
        let made = try PostgresConnection(configuration, after: former)
        made.answerTimeout = configuration.answerTimeout
        _ = try made.run(preparation)
        connection = made
        generation += 1
        return made
    }

    /// Leaves a transaction after an error.
    package func rollBack() {
        guard let connection, !connection.isBroken else { return }
        _ = try? connection.run("ROLLBACK")
    }

    /// Closes the connection.
    package func close() {
        former = connection?.host ?? former
        connection = nil
    }
}

extension PostgresError {
    /// Whether the same transaction may succeed later: the connection was lost, the server is
    /// another one now, or transactions were in each other's way.
    package var isTransient: Bool {
        isDisconnected || isReadOnly || state?.hasPrefix("40") == true || state == "25P03" || state == "55P03"
    }

    /// Whether a row would have violated a constraint, such as a second row with the same key.
    package var isConstraint: Bool { state?.hasPrefix("23") ?? false }
}
