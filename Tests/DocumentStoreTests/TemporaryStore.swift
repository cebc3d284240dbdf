import DocumentModel
import DocumentStore
import SystemTestKit

/// A SQLite store in its own directory, which is removed after the test.
final class TemporaryStore: Sendable {
    static let database = DatabaseName(project: "test")

    private let home: TemporaryDirectory

    var directory: String { home.path }

    /// The file while no store has it open.
    var file: DocumentDatabaseFile { DocumentDatabaseFile(Self.database, path: path) }

    var path: String { directory + "/documents.db" }

    init() throws { home = try TemporaryDirectory() }

    func open(
        _ configuration: SQLiteDocumentStore.Configuration = SQLiteDocumentStore.Configuration()
    ) async throws -> SQLiteDocumentStore {
        try await SQLiteDocumentStore(Self.database, path: path, configuration: configuration)
    }
}
