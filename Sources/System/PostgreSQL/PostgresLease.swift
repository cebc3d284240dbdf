import Synchronization

/// The right to do some work that only one server at a time should do.
///
/// The holder renews the lease before each step of its work. A server that was paused for longer than
/// the lease lasts does not get it back, so it ends its work with an error once another server may
/// have begun: each holder has a term, and terms grow.
package struct PostgresLease: Sendable {
    /// The error for a lease that another server may have by now.
    package struct Lost: Error, CustomStringConvertible {
        package let name: String

        package var description: String { "Another server may do '\(name)' now, so this one has stopped." }
    }

    private let name: String
    private let server: PostgresConfiguration
    private let seconds: Int64

    private static let migrations = [
        [
            """
            CREATE TABLE ferry_leases.lease(
                name text PRIMARY KEY, term bigint NOT NULL, expires bigint NOT NULL)
            """
        ]
    ]
    /// The time by the database's clock, in milliseconds since 1970.
    private static let now = "(extract(epoch FROM clock_timestamp())*1000)::bigint"

    /// Creates a value without asking for the lease.
    ///
    /// - Parameter seconds: The longest that a step may take.
    package init(_ name: String, _ server: PostgresConfiguration, seconds: Int64 = 120) {
        self.name = name
        self.server = server
        self.seconds = seconds
    }

    /// Runs `body` while this server has the lease. Returns nil, and does not run it, if another
    /// server has it.
    ///
    /// - Parameter body: Calls `renew` before each step, and ends with the error that it throws.
    /// - Throws: `PostgresError`, and what `body` throws.
    package func run<Result: Sendable>(
        _ body: @Sendable (_ renew: @escaping @Sendable () throws -> Void) async throws -> Result
    ) async throws -> Result? {
        let session = LeaseSession(server)
        guard let term = try session.run(acquire) else { return nil }
        do {
            let result = try await body { try session.run { try renew($0, term) } }
            try? session.run { try end($0, term) }
            return result
        } catch {
            try? session.run { try end($0, term) }
            throw error
        }
    }

    private func acquire(_ connection: PostgresConnection) throws -> Int64? {
        try connection.migrate("ferry_leases", Self.migrations)
        let rows = try connection.run(
            """
            INSERT INTO ferry_leases.lease AS l VALUES($1, 1, \(Self.now)+$2)
            ON CONFLICT (name) DO UPDATE SET term=l.term+1, expires=excluded.expires WHERE l.expires<=\(Self.now)
            RETURNING term
            """, [.text(name), .integer(seconds * 1000)])
        return rows.count > 0 ? rows.integer(0, 0) : nil
    }

    private func renew(_ connection: PostgresConnection, _ term: Int64) throws {
        let renewed = try connection.run(
            "UPDATE ferry_leases.lease SET expires=\(Self.now)+$3 WHERE name=$1 AND term=$2 AND expires>\(Self.now)",
            [.text(name), .integer(term), .integer(seconds * 1000)])
        guard renewed.changedRowCount == 1 else { throw Lost(name: name) }
    }

    private func end(_ connection: PostgresConnection, _ term: Int64) throws {
        try connection.run(
            "UPDATE ferry_leases.lease SET expires=0 WHERE name=$1 AND term=$2", [.text(name), .integer(term)])
    }
}

/// The connection of a holder.
private final class LeaseSession: Sendable {
    private let session: Mutex<PostgresSession>

    init(_ server: PostgresConfiguration) { session = Mutex(PostgresSession(server)) }

    func run<Result: Sendable>(_ body: (PostgresConnection) throws -> Result) throws -> Result {
        try session.withLock { try body($0.connected()) }
    }
}
