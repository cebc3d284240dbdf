import DocumentModel
import DocumentStore
import Foundation

/// A SQLite store in its own directory, which is removed after the test.
final class TemporaryStore: Sendable {
    static let database = DatabaseName(project: "test")

    let directory: String

    /// The file while no store has it open.
    var file: DocumentDatabaseFile { DocumentDatabaseFile(Self.database, path: path) }

    var path: String { directory + "/documents.db" }

    init() throws {
        directory = NSTemporaryDirectory() + "ferry-documents-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    func open(
        _ configuration: SQLiteDocumentStore.Configuration = SQLiteDocumentStore.Configuration()
    ) async throws -> SQLiteDocumentStore {
        try await SQLiteDocumentStore(Self.database, path: path, configuration: configuration)
    }
}
