import DocumentStore
import DocumentStoreTestKit
import Testing

struct ContractTests {
    @Test(arguments: DocumentStoreContract.all)
    func `the SQLite store keeps the contract`(check: DocumentStoreContract) async throws {
        let temporary = try TemporaryStore()
        var configuration = SQLiteDocumentStore.Configuration()
        configuration.inheritedFields = ["inherited"]
        let store = try await temporary.open(configuration)
        try await check.run(on: store)
        await store.close()
    }

    @Test(arguments: DocumentStoreContract.all)
    func `the memory store keeps the contract`(check: DocumentStoreContract) async throws {
        try await check.run(on: MemoryDocumentStore(TemporaryStore.database, inheritedFields: ["inherited"]))
    }
}
