import DocumentModel
import DocumentStore
import DocumentStoreTestKit
import PostgresStore
import Testing

/// Compares the store with the memory store.
struct DifferentialTests {
    /// The exemptions at first and later.
    private static let exemptions: [(Set<IndexExemption>, Set<IndexExemption>)] = [
        ([], []), ([], exemption(["a", "c"], ["x"])), (exemption(["a"], ["x"]), exemption(["a", "b"], ["y"])),
        (exemption(["a", "b", "c"], ["x", "y", "z"]), []),
    ]

    private static func exemption(_ collections: [String], _ fields: [String]) -> Set<IndexExemption> {
        Set(collections.flatMap { id in fields.map { IndexExemption(collectionID: id, field: $0) } })
    }

    @Test(arguments: 0..<16)
    func `random commits and queries give the same results as the reference`(seed: UInt64) async throws {
        let temporary = try TemporaryDatabase()
        var configuration = PostgresDocumentStore.Configuration()
        // Every access path of a query must give the same results.
        configuration.tuning.gatherLimit = seed % 2 == 0 ? 2000 : 1
        configuration.tuning.pageCount = seed % 3 == 0 ? 300 : 2
        configuration.tuning.compositeMinimum = seed % 4 < 2 ? 0 : 100
        configuration.tuning.compositeGain = 0
        let (exempt, exemptLater) = Self.exemptions[Int(seed / 2 % 4)]
        configuration.indexExemptions = exempt
        var store = try await temporary.open(configuration)
        try await DocumentStoreComparison.compareReads(of: store, seed: seed) {
            await store.close()
            configuration.indexExemptions = exemptLater
            store = try await temporary.open(configuration)
            return store
        }
        await store.close()
    }

    @Test(arguments: 0..<8)
    func `random transactions read and end as those of the reference`(seed: UInt64) async throws {
        var configuration = PostgresDocumentStore.Configuration()
        configuration.lockWaitLimit = .milliseconds(1)
        let store = try await TemporaryDatabase().open(configuration)
        try await DocumentStoreComparison.compareTransactions(of: store, seed: seed)
        await store.close()
    }

    @Test(arguments: 0..<5)
    func `listeners hold the same documents as the reference after every commit`(seed: UInt64) async throws {
        var configuration = PostgresDocumentStore.Configuration()
        configuration.listenerBacklog = 3
        let store = try await TemporaryDatabase().open(configuration)
        try await DocumentStoreComparison.compareListeners(of: store, seed: seed)
        await store.close()
    }
}
