import Foundation
import PostgreSQL

/// A private PostgreSQL server on a Unix socket in a temporary directory. Ends with the process that
/// started it, however that ends.
package final class TemporaryPostgres: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The directory of the socket and the data.
    package let directory: String
    private let process: Process
    /// The server ends when this is closed.
    private let lifeline: Pipe

    private static let port = 5432

    /// One server for all tests of a process.
    package static let shared = Result { try TemporaryPostgres() }

    /// Creates a cluster and starts its server.
    package init(settings: [String] = []) throws {
        directory = NSTemporaryDirectory() + "ferry-postgres-" + UUID().uuidString.prefix(8)
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        let binaries = try Self.binaries()
        process = Process()
        lifeline = Pipe()
        // PostgreSQL refuses to run as root.
        let isRoot = geteuid() == 0
        let user = isRoot ? "setpriv --reuid=postgres --regid=postgres --init-groups" : ""
        if isRoot { try Self.run("/bin/chown", ["postgres", directory]) }
        let options = (["listen_addresses=", "unix_socket_directories=\(directory)", "max_connections=200"] + settings)
            .map { "-c '\($0)'" }.joined(separator: " ")
        let script = """
            cd '\(directory)'
            \(user) '\(binaries)/initdb' -D data -U ferry -A trust -E UTF8 --locale=C >initdb.log 2>&1 || exit 1
            \(user) '\(binaries)/postgres' -D data \(options) >postgres.log 2>&1 </dev/null &
            server=$!
            read -r _
            kill -QUIT $server
            wait $server
            rm -rf '\(directory)'
            """
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", script]
        process.standardInput = lifeline
        try process.run()
        try waitUntilReady()
    }

    /// The URL of the database `postgres`.
    package var url: String { "postgres://ferry@/postgres?host=\(directory)&port=\(Self.port)" }

    /// Creates an empty database and returns its URL.
    package func makeDatabase() throws -> String {
        let name = "test_" + UUID().uuidString.lowercased().filter { $0 != "-" }
        try PostgresConnection(PostgresConfiguration(url: url)).run("CREATE DATABASE \(name)")
        return "postgres://ferry@/\(name)?host=\(directory)&port=\(Self.port)"
    }

    /// Closes the connections of all clients of a database, as a failing server does.
    package func disconnectClients(of url: String) throws {
        let start = url.firstRange(of: "@/").map(\.upperBound) ?? url.startIndex
        let name = url[start...].prefix { $0 != "?" }
        try PostgresConnection(PostgresConfiguration(url: self.url)).run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname=$1", [.text(String(name))])
    }

    private func waitUntilReady() throws {
        var last = ""
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .seconds(60) {
            do {
                _ = try PostgresConnection(PostgresConfiguration(url: url))
                return
            } catch { last = "\(error)" }
            guard process.isRunning else { break }
            usleep(20_000)
        }
        let log = (try? String(contentsOfFile: directory + "/initdb.log", encoding: .utf8)) ?? ""
        throw Failure(description: "PostgreSQL does not start: \(last) \(log)")
    }

    /// The directory of the newest version's programs.
    private static func binaries() throws -> String {
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        guard let newest = versions.compactMap({ Int($0) }).max() else {
            throw Failure(description: "The Debian package postgresql is not installed.")
        }
        return "/usr/lib/postgresql/\(newest)/bin"
    }

    private static func run(_ program: String, _ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(description: "\(program) failed.") }
    }
}
