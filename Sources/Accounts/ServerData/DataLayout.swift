import BucketStore
import DocumentModel
package import DocumentStore
import SQLite
import SystemIO

/// The layout of a data directory, which a backup shares.
package struct DataLayout: Sendable {
    package let path: String

    package init(path: String) {
        self.path = path
    }

    /// The bucket of the users' attachments.
    package static let bucket = "ferry"

    /// The database of the server's users.
    package static let documents = "documents/main.db"
    package static let index = "objects/index.db"
    package static let accounts = "accounts/accounts.sqlite"
    package static let signingKeys = "accounts/signing-keys.pem"

    /// The files without which a server's data is incomplete.
    package static let required = [documents, accounts, signingKeys, index]

    /// The directory of `DirectoryBucketStore`.
    package var objects: String { "\(path)/objects" }

    /// Returns the existing databases by their paths below the directory.
    package func databases() throws -> [String] {
        let documents = try Directory(path: "\(path)/documents").entries().map(\.name)
            .filter { $0.hasSuffix(".db") }.sorted().map { "documents/\($0)" }
        return documents + [Self.accounts, Self.index].filter { FileSystem.exists("\(path)/\($0)") }
    }

    /// Whether a database that `databases` returned holds documents.
    package func isOfDocuments(_ name: String) -> Bool { name.hasPrefix("documents/") }

    /// Returns a database of documents. Its name does not matter, because neither a check nor a
    /// copy reads it.
    package static func documentFile(_ path: String) -> DocumentDatabaseFile {
        DocumentDatabaseFile(DatabaseName(project: "any"), path: path)
    }

    /// Calls `body` with each file of an object or part that the index at `index` knows, its size,
    /// its entity tag, and the headers that are stored with an object.
    package static func forEachFile(
        in index: String,
        _ body: (_ file: String, _ size: Int64, _ etag: String, _ headers: [String: String]) throws -> Void
    ) throws {
        let database = try SQLiteDatabase(path: index)
        defer { database.close() }
        try database.query(
            "SELECT file, size, etag, headers FROM object UNION ALL SELECT file, size, etag, '{}' FROM part"
        ) { row in
            try body(row.text(0), row.int64(1), row.text(2), [String: String](jsonText: row.text(3)))
        }
    }
}
