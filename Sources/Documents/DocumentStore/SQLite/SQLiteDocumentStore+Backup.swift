import DocumentModel
import SQLite
import SystemIO

extension SQLiteDocumentStore {
    /// Writes a consistent copy of the database to one file while reads and commits continue.
    ///
    /// The copy has a separate history: a listener's token of the original causes a reset in it,
    /// because the original may continue with commits that the copy never contains. Throws
    /// `DocumentStoreError` and leaves no partial file.
    package func backUp(to destination: String) async throws {
        let file = DocumentDatabaseFile(database, path: path)
        let thread = SerialThread()
        defer { thread.stop() }
        try await thread.run { try file.backUp(to: destination) }
    }
}
