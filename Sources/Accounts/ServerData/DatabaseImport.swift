import DocumentModel
import FirestoreServer
import IdentityServer
package import PostgreSQL
import PostgresStore
import SystemIO

/// Stores the documents of a file, or the documents and accounts of a data directory, in PostgreSQL.
package struct DatabaseImport {
    private let database: DatabaseName
    private let server: PostgresConfiguration

    package init(project: String, _ server: PostgresConfiguration) {
        database = DatabaseName(project: project)
        self.server = server
    }

    /// Runs the import. Accounts are copied only into a database that has none.
    ///
    /// - Parameter path: A file of `DocumentLines`, or the data directory of a server that is
    ///   stopped.
    /// - Returns: What was stored, in words.
    package func run(_ path: String) async throws -> String {
        guard FileSystem.exists("\(path)/\(DataLayout.documents)") else { return try await documents(path) }
        // The directory is locked, so that no server changes it meanwhile.
        let directory = try DataDirectory(path: path)
        let accounts = try await IdentityService.copy(directory: directory.accounts, to: server)
        let lines = "\(path)/import.ndjson.partial"
        let file = try FileDescriptor(path: lines, [.readWrite, .create, .truncate], mode: 0o600)
        defer { _ = try? FileSystem.remove(lines) }
        let damaged = try DocumentLines(database: database)
            .write(documentsOf: "\(path)/\(DataLayout.documents)", to: file).damaged
        guard damaged.isEmpty else {
            throw ServerError(.damaged, "These documents are damaged: \(damaged.joined(separator: ", ")).")
        }
        return "\(accounts) accounts and \(try await documents(lines))"
    }

    private func documents(_ path: String) async throws -> String {
        let store = try await PostgresDocumentStore(database, server)
        do {
            let count = try await DocumentLines(database: database).read(path, into: store)
            await store.close()
            return "\(count) documents"
        } catch {
            await store.close()
            throw error
        }
    }
}
