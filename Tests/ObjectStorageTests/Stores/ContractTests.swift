import ObjectStorage
import ObjectStoreTestKit
import SystemTestKit
import Testing

@Suite struct ContractTests {
    @Test(arguments: ObjectStoreContract.all)
    func `memory store`(contract: ObjectStoreContract) async throws {
        try await contract.run(on: MemoryObjectStore())
    }

    @Test(arguments: ObjectStoreContract.all)
    func `directory store`(contract: ObjectStoreContract) async throws {
        let directory = try TemporaryDirectory()
        try await contract.run(on: DirectoryObjectStore(path: directory.path))
    }

    @Test(arguments: ObjectStoreContract.all)
    func `retrying store over a store that fails now and then`(contract: ObjectStoreContract) async throws {
        let faulty = FaultyObjectStore(MemoryObjectStore(), failing: { $0 == 1 || $0.isMultiple(of: 3) })
        try await contract.run(on: RetryingObjectStore(faulty, policy: RetryPolicy(attempts: 50), sleep: { _ in }))
        #expect(faulty.failures > 0)
    }

    @Test(arguments: ObjectStoreContract.all)
    func `limited store`(contract: ObjectStoreContract) async throws {
        try await contract.run(
            on: LimitedObjectStore(MemoryObjectStore(), up: 1000, down: 1000, environment: .still { _ in }))
    }
}
