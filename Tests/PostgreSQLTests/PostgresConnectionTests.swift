import Foundation
import PostgresTestKit
import Testing

@testable import PostgreSQL

struct PostgresConnectionTests {
    private func connect() throws -> PostgresConnection {
        try PostgresConnection(PostgresConfiguration(url: try TemporaryPostgres.shared.get().makeDatabase()))
    }

    @Test func `values of every type come back as they were sent`() throws {
        let connection = try connect()
        let row = try connection.run(
            "SELECT $1::bigint, $2::text, $3::bytea, $4::bigint, $5::bytea, $6::smallint, true",
            [.integer(-5), .text("Grüße"), .bytes([0, 255, 1]), .null, .bytes([]), .null])
        #expect(row.count == 1)
        #expect(row.integer(0, 0) == -5)
        #expect(row.text(0, 1) == "Grüße")
        #expect(row.bytes(0, 2) == [0, 255, 1])
        #expect(row.isNull(0, 3))
        #expect(!row.isNull(0, 4) && row.bytes(0, 4) == [])
        #expect(row.boolean(0, 6))
        #expect(row.isNull(1, 0) && row.integer(0, 99) == 0 && row.bytes(-1, 0) == [])
    }

    @Test func `arrays keep their elements, nulls and emptiness`() throws {
        let connection = try connect()
        let rows = try connection.run(
            "SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::text[])",
            [.integers([1, nil, .min]), .blobs([[], [7], nil]), .texts(["a", nil, ""])])
        #expect(rows.count == 3)
        #expect(rows.integer(2, 0) == .min)
        #expect(rows.isNull(1, 0) && !rows.isNull(0, 1) && rows.isNull(2, 1) && rows.isNull(1, 2))
        #expect(try connection.run("SELECT * FROM unnest($1::bytea[])", [.blobs([])]).count == 0)
    }

    @Test func `an error has its SQLSTATE, ends the rest, and leaves the connection usable`() throws {
        let connection = try connect()
        try connection.run("CREATE TABLE t(v bigint PRIMARY KEY)")
        let insert = PostgresStatement("INSERT INTO t VALUES($1)", [.integer(1)])
        #expect {
            _ = try connection.run([insert, insert, PostgresStatement("SELECT v FROM no_such_table")])
        } throws: {
            ($0 as? PostgresError)?.state == "23505"
        }
        // Statements that are sent together are one transaction.
        #expect(try connection.run("SELECT count(*) FROM t").integer(0, 0) == 0)
        #expect { try connection.run("SELECT v FROM no_such_table") } throws: {
            ($0 as? PostgresError)?.state == "42P01"
        }
        #expect(try connection.run([insert, PostgresStatement("SELECT 1")]).count == 2)
        #expect(try connection.run("SELECT count(*) FROM t").integer(0, 0) == 1)
    }

    @Test func `what was sent without waiting is done before what follows`() throws {
        let connection = try connect()
        try connection.run("CREATE TABLE t(v bigint)")
        try connection.send([PostgresStatement("INSERT INTO t VALUES(1)")])
        #expect(try connection.run("SELECT count(*) FROM t").integer(0, 0) == 1)
    }

    @Test func `a lost connection is recognized`() throws {
        let server = try TemporaryPostgres.shared.get()
        let url = try server.makeDatabase()
        let connection = try PostgresConnection(PostgresConfiguration(url: url))
        try connection.run("SELECT 1")
        try server.disconnectClients(of: url)
        #expect { try connection.run("SELECT 1") } throws: { ($0 as? PostgresError)?.isDisconnected == true }
        #expect(connection.isBroken)
        #expect(throws: PostgresError.self) { try connection.run("SELECT 1") }
    }

    @Test func `a session gives up a server that does not answer`() throws {
        var configuration = PostgresConfiguration(url: try TemporaryPostgres.shared.get().makeDatabase())
        configuration.answerTimeout = .milliseconds(200)
        let session = PostgresSession(configuration)
        #expect { try session.connected().run("SELECT pg_sleep(60)") } throws: {
            ($0 as? PostgresError)?.isDisconnected == true
        }
        #expect(try session.connected().run("SELECT 1").integer(0, 0) == 1)
        #expect(session.generation == 2)
        // Migrations have all the time that they need.
        try session.connected().migrate("m", [["CREATE TABLE m.t AS SELECT 1 AS v FROM pg_sleep(0.5)"]])
        #expect(session.generation == 2)
    }

    @Test func `a session tries the server before last`() throws {
        let server = try TemporaryPostgres.shared.get()
        // Both names lead to one server; only the first is reachable at first.
        let link = "\(server.directory)/other"
        let start = server.url.firstRange(of: "host=")?.upperBound ?? server.url.endIndex
        let url = "\(server.url[..<start])\(server.directory),\(link)"
        let session = PostgresSession(PostgresConfiguration(url: url))
        func directory() throws -> String? { try session.connected().host.name }
        #expect(try directory() == server.directory)
        session.close()
        #expect(try directory() == server.directory)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: server.directory)
        defer { try? FileManager.default.removeItem(atPath: link) }
        #expect(try directory() == server.directory)
        session.close()
        #expect(try directory() == link)
        session.close()
        #expect(try directory() == server.directory)
    }

    @Test func `a statement can be cancelled from another thread`() throws {
        let connection = try connect()
        let canceller = try #require(connection.canceller())
        let timer = DispatchSource.makeTimerSource(queue: .global())
        // A cancellation that comes before the statement has no effect, so it is repeated.
        timer.schedule(deadline: .now(), repeating: .milliseconds(20))
        timer.setEventHandler { canceller.cancel() }
        timer.resume()
        defer { timer.cancel() }
        #expect { try connection.run("SELECT pg_sleep(60)") } throws: {
            ($0 as? PostgresError)?.isCancelled == true
        }
    }

    @Test func `of several hosts the first that answers is used`() throws {
        let directory = try TemporaryPostgres.shared.get().directory
        let url = "postgres://ferry@/postgres?host=/nonexistent,\(directory)&target_session_attrs=read-write"
        #expect(try PostgresConnection(PostgresConfiguration(url: url)).run("SELECT 7::bigint").integer(0, 0) == 7)
        #expect(throws: PostgresError.self) {
            try PostgresConnection(PostgresConfiguration(url: "postgres://ferry@/postgres?host=/nonexistent"))
        }
    }

    @Test func `a password in a URL is noticed`() {
        #expect(PostgresConfiguration(url: "postgres://a:secret@host/db").hasPasswordInURL)
        #expect(PostgresConfiguration(url: "postgres://a@host/db?x=1&password=secret").hasPasswordInURL)
        #expect(!PostgresConfiguration(url: "postgres://a@host1:5432,host2:5433/db?sslmode=require").hasPasswordInURL)
        #expect(!PostgresConfiguration(url: "postgres://ferry@/db?host=/run").hasPasswordInURL)
    }
}
