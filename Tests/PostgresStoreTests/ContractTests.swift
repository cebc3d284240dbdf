import DocumentModel
import DocumentStore
import DocumentStoreTestKit
import PostgreSQL
import PostgresStore
import PostgresTestKit
import Testing

struct ContractTests {
    @Test(arguments: DocumentStoreContract.all)
    func `the store keeps the contract`(check: DocumentStoreContract) async throws {
        var configuration = PostgresDocumentStore.Configuration()
        configuration.inheritedFields = ["inherited"]
        let store = try await TemporaryDatabase().open(configuration)
        try await check.run(on: store)
        await store.close()
    }
}

/// An empty database on the server of the tests.
struct TemporaryDatabase {
    static let name = DatabaseName(project: "test")

    let url: String

    init() throws { url = try TemporaryPostgres.shared.get().makeDatabase() }

    func open(
        _ configuration: PostgresDocumentStore.Configuration = PostgresDocumentStore.Configuration()
    ) async throws -> PostgresDocumentStore {
        try await PostgresDocumentStore(Self.name, PostgresConfiguration(url: url), configuration: configuration)
    }
}
