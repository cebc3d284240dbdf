import Dispatch
import DocumentModel
import Testing

@testable import DocumentStore

struct ReaderPoolTests {
    @Test func `long reads of one account keep no other one waiting`() async throws {
        let store = try await TemporaryStore().open()
        let name = try DocumentName(database: TemporaryStore.database, path: "a/1")
        _ = try await store.commit([Write(.update(name, fields: ["n": .integer(1)]))])
        let gate = DispatchSemaphore(value: 0)
        try await withThrowingTaskGroup { group in
            for _ in 0..<10 { group.addTask { try await store.readers.read(for: "anna") { _, _ in gate.wait() } } }
            // All readers but one are busy, or soon will be.
            let query = Query(parent: ParentName(TemporaryStore.database), collectionID: "a")
            for _ in 0..<20 {
                #expect(try await store.get([name], at: .strong).documents.count == 1)
                var found = 0
                for try await _ in try await store.query(query, at: .strong, for: "bob").documents { found += 1 }
                #expect(found == 1)
            }
            // Also while the operator has the last one.
            group.addTask { try await store.readers.read { _, _ in gate.wait() } }
            for _ in 0..<20 { #expect(try await store.get([name], at: .strong).documents.count == 1) }
            for _ in 0..<11 { gate.signal() }
            try await group.waitForAll()
        }
        await store.close()
    }
}
