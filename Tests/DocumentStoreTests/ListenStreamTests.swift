import DocumentModel
import DocumentStoreTestKit
import SystemIO
import SystemTestKit
import Testing

@testable import DocumentStore

struct ListenStreamTests {
    /// Many machines come back at once while others write. Each load reads the changes since its time again, so that
    /// those that had their times while they waited would never end.
    @Test(.timeLimit(.minutes(1)))
    func `a target that waits for its turn is loaded as of its turn`() async throws {
        var configuration = SQLiteDocumentStore.Configuration()
        configuration.readerCount = 1
        let temporary = try TemporaryStore()
        let store = try await temporary.open(configuration)
        let name = try DocumentName(database: TemporaryStore.database, path: "a/1")
        let query = Query(parent: ParentName(TemporaryStore.database), collectionID: "a")
        let executor = HandExecutor()
        let start = ListenClient(store)
        await start.stream.add(ListenTarget(id: 1, selection: .query(query)))
        let (listening, committed) = try await store.hub.loads.run(for: nil) { _ in
            let listening = Task(executorPreference: executor) {
                var client = start
                try await client.advance(untilAnswered: [1])
                return client
            }
            executor.drain()
            // The listener waits for its turn.
            let write = Write(.update(name, fields: ["n": .integer(1)]))
            return (listening, try await store.commit([write]).commitTime)
        }
        let client = try await executor.drain(for: listening)
        #expect(client.readTime >= committed)
        #expect(client.documents(1) == ["a/1"])
        await store.close()
    }
}
