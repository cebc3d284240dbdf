import BucketStore
import DocumentModel
import DocumentStore
import SQLite
import SystemIO

/// What is where in a data directory, or in a backup, which has the same layout.
struct DataLayout: Sendable {
    let path: String

    /// The database of the server's users.
    static let documents = "documents/main.db"
    static let index = "objects/index.db"
    static let accounts = "accounts/accounts.sqlite"
    static let signingKeys = "accounts/signing-keys.pem"

    /// The files without which a server's data is not whole.
    static let required = [documents, accounts, signingKeys, index]

    /// The directory of `DirectoryBucketStore`.
    var objects: String { "\(path)/objects" }

    /// The databases that are there, by their paths below the directory.
    func databases() throws -> [String] {
        let documents = try Directory(path: "\(path)/documents").entries().map(\.name)
            .filter { $0.hasSuffix(".db") }.sorted().map { "documents/\($0)" }
        return documents + [Self.accounts, Self.index].filter { FileSystem.exists("\(path)/\($0)") }
    }

    /// Whether a database that `databases` answered holds documents.
    func isOfDocuments(_ name: String) -> Bool { name.hasPrefix("documents/") }

    /// A database of documents whose name is not needed: neither a check nor a copy reads it.
    static func documentFile(_ path: String) -> DocumentDatabaseFile {
        DocumentDatabaseFile(DatabaseName(project: "any"), path: path)
    }

    /// Calls `body` with each file of an object or part that the index at `index` knows, its size
    /// and its entity tag, and the headers that are kept with an object.
    static func forEachFile(
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
