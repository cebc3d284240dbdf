package import DocumentModel
import DocumentStore
package import IdentityProtocol
package import PostgreSQL
import PostgresStore
import SQLite
import SystemIO

/// The usage of accounts, read from the databases of a server that may be running.
package struct StoredUsage {
    private let documents: [String: Int64]
    private let objects: [String: Int64]

    /// Reads the usage.
    ///
    /// - Parameter directory: The data directory. Usage is 0 if a database does not exist, or was
    ///   never opened by a server that counts usage.
    package init(_ directory: String) throws {
        documents = try Self.read(
            "\(directory)/\(DataLayout.documents)", "SELECT owner, documents FROM usage")
        objects = try Self.read("\(directory)/\(DataLayout.index)", "SELECT owner, bytes FROM usage")
    }

    /// Reads the numbers of documents in PostgreSQL. Objects are in another store then.
    package init(_ database: DatabaseName, _ server: PostgresConfiguration) throws {
        documents = try PostgresDocumentStore.documentCounts(database, server)
        objects = [:]
    }

    package func of(_ user: String) -> AccountUsage {
        AccountUsage(objectBytes: objects[user] ?? 0, documents: documents[user] ?? 0)
    }

    private static func read(_ path: String, _ sql: String) throws -> [String: Int64] {
        guard FileSystem.exists(path) else { return [:] }
        let database = try SQLiteDatabase(path: path, configuration: SQLiteConfiguration().readOnly)
        defer { database.close() }
        let isCounted = try database.first("SELECT 1 FROM sqlite_schema WHERE type='table' AND name='usage'") { _ in
            true
        }
        guard isCounted == true else { return [:] }
        var usage: [String: Int64] = [:]
        try database.query(sql) { usage[$0.text(0)] = $0.int64(1) }
        return usage
    }
}
