import DocumentModel
import DocumentStore
import FirestoreProtocol
import PostgreSQL
import PostgresStore
import PostgresTestKit
import Testing

/// The reading of all documents beside running servers.
struct DocumentsTests {
    private func name(_ path: String) throws -> DocumentName {
        try DocumentName(database: TemporaryDatabase.name, path: path)
    }

    private func set(_ path: String, _ text: String) throws -> Write {
        Write(.update(try name(path), fields: ["text": .string(text)]))
    }

    @Test func `all documents come, page by page, and damage is named`() async throws {
        let temporary = try TemporaryDatabase()
        let store = try await temporary.open()
        let server = PostgresConfiguration(url: temporary.url)
        for start in stride(from: 0, to: 1200, by: 400) {
            _ = try await store.commit(try (start..<start + 400).map { try set("a/\($0)", "x") })
        }
        _ = try await store.commit([try set("b/1/c/1", "y"), Write(.delete(try name("a/7")))])
        let documents = PostgresDocuments(TemporaryDatabase.name, server)
        var paths: [String] = []
        #expect(try documents.forEach { paths.append($0.name.path) } == [])
        #expect(paths.count == 1200 && Set(paths).count == 1200)
        #expect(!paths.contains("a/7") && paths.contains("b/1/c/1"))
        #expect(try documents.problems() == [])
        let connection = try PostgresConnection(server)
        try connection.run(
            "UPDATE ferry.document SET fields='\\xff' WHERE id=convert_to('9', 'UTF8')")
        try connection.run("INSERT INTO ferry.entry VALUES('\\x00', 999999999)")
        #expect(try documents.forEach { _ in } == ["a/9"])
        #expect(try documents.problems() == ["a/9 is damaged", "1 entries of indexes belong to no document"])
        await store.close()
    }

    @Test func `versions that contain a mark are found, those of the past too`() async throws {
        let temporary = try TemporaryDatabase()
        let store = try await temporary.open()
        _ = try await store.commit([try set("a/1", "first mark"), try set("a/2", "second sign")])
        _ = try await store.commit([try set("a/1", "nothing"), try set("a/3", "user-7 has a mark")])
        let documents = PostgresDocuments(TemporaryDatabase.name, PostgresConfiguration(url: temporary.url))
        var found: [Bool] = []
        try documents.forEachVersion(containing: Array("mark".utf8), or: Array("sign".utf8)) { _, isPresent in
            found.append(isPresent)
        }
        #expect(found == [true, true, false])
        #expect(try documents.contain(Array("user-7".utf8)))
        #expect(try !documents.contain(Array("user-8".utf8)))
        await store.close()
    }
}
