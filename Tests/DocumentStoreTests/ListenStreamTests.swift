import DocumentModel
import DocumentStoreTestKit
import FirestoreProtocol
import SystemIO
import SystemTestKit
import Testing

import struct DocumentStore.ListenTarget

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

    /// A machine sleeps while it listens, and its user changes much elsewhere.
    @Test(.timeLimit(.minutes(1)))
    func `a stream that lags behind reads a part of the log at a time, and none while it has a turn`() async throws {
        var configuration = SQLiteDocumentStore.Configuration()
        (configuration.readerCount, configuration.listenerBacklog) = (1, 10)
        let temporary = try TemporaryStore()
        let store = try await temporary.open(configuration)
        let database = TemporaryStore.database
        let query = Query(parent: ParentName(database), collectionID: "a")
        let executor = HandExecutor()
        var client = ListenClient(store)
        await client.stream.add(ListenTarget(id: 1, selection: .query(query)))
        try await client.advance(untilAnswered: [1])
        let stream = client.stream
        let listening = try await store.hub.loads.run(for: nil) { _ in
            let listening = Task(executorPreference: executor) {
                await stream.add(ListenTarget(id: 2, selection: .query(query)))
                var (parts, documents): ([Int], [Int32: Set<String>]) = ([], [:])
                while let events = try await stream.next() {
                    parts.append(events.count)
                    for case .changed(let document, let targets, _) in events {
                        for target in targets { documents[target, default: []].insert(document.name.path) }
                    }
                    for case .current(2, _, _) in events { return (parts, documents) }
                }
                return (parts, documents)
            }
            executor.drain()
            // The new target waits for its turn.
            for part in 0..<20 {
                _ = try await store.commit(
                    try (0..<100).map { number in
                        let path = "a/\(100 * part + number)"
                        return Write(.update(try DocumentName(database: database, path: path), fields: [:]))
                    })
            }
            return listening
        }
        let (parts, documents) = try await executor.drain(for: listening)
        #expect(documents[1]?.count == 2000)
        #expect(documents[2]?.count == 2000)
        #expect(parts.max() ?? 0 <= 610)
        await store.close()
    }

    @Test(.timeLimit(.minutes(1)))
    func `a stream that is cancelled while it waits for its turn ends at once`() async throws {
        var configuration = SQLiteDocumentStore.Configuration()
        configuration.readerCount = 1
        let temporary = try TemporaryStore()
        let store = try await temporary.open(configuration)
        let query = Query(parent: ParentName(TemporaryStore.database), collectionID: "a")
        let executor = HandExecutor()
        try await store.hub.loads.run(for: nil) { _ in
            let listening = Task(executorPreference: executor) {
                let stream = store.listen()
                await stream.add(ListenTarget(id: 1, selection: .query(query)))
                return try await stream.next()?.count
            }
            executor.drain()
            listening.cancel()
            await #expect(throws: CancellationError.self) { try await executor.drain(for: listening) }
        }
        await store.close()
    }

    /// Many machines come back after a while, in which other users changed much.
    @Test(arguments: [(documents: 3, resets: 1), (250, 0), (350, 0)])
    func `a target resumes from all changes to the database only if it has many documents`(
        documents: Int, resets: Int
    ) async throws {
        let temporary = try TemporaryStore()
        let store = try await temporary.open()
        func write(_ path: String, _ n: Int64) throws -> Write {
            Write(.update(try DocumentName(database: TemporaryStore.database, path: path), fields: ["n": .integer(n)]))
        }
        _ = try await store.commit(try (0..<documents).map { try write("a/\($0)", 1) })
        let target = ListenTarget(
            id: 1, selection: .query(Query(parent: ParentName(TemporaryStore.database), collectionID: "a")))
        var client = ListenClient(store)
        await client.stream.add(target)
        try await client.advance(untilAnswered: [1])
        _ = try await store.commit(try (0..<200).map { try write("b/\($0)", 1) })
        _ = try await store.commit([try write("a/0", 2), Write(.delete(try write("a/1", 1).name))])
        let resumed = try await client.resumed(target, on: store)
        #expect(resumed.resets == resets)
        #expect(resumed.documents(1).count == (resets > 0 ? documents - 1 : 1))
        await store.close()
    }

    /// All documents with one of the values have to be read to find these few again.
    @Test func `a target with few documents that takes many reads resumes from the changes`() async throws {
        let temporary = try TemporaryStore()
        let store = try await temporary.open()
        func write(_ path: String, _ fields: [String: Int64]) throws -> Write {
            let name = try DocumentName(database: TemporaryStore.database, path: path)
            return Write(.update(name, fields: fields.mapValues(Value.integer)))
        }
        _ = try await store.commit(try (0..<400).map { try write("a/\($0)", ["x": 1, "y": $0 == 7 ? 1 : 2]) })
        _ = try await store.commit(try (400..<800).map { try write("a/\($0)", ["x": 2, "y": 1]) })
        let filters = [("x", 1), ("y", 1)].map { Query.Filter.field(FieldPath(key: $0), .equal, .integer($1)) }
        let target = ListenTarget(
            id: 1,
            selection: .query(
                Query(parent: ParentName(TemporaryStore.database), collectionID: "a", filter: .and(filters))))
        var client = ListenClient(store)
        await client.stream.add(target)
        try await client.advance(untilAnswered: [1])
        #expect(client.documents(1) == ["a/7"])
        _ = try await store.commit(try (0..<200).map { try write("b/\($0)", [:]) })
        _ = try await store.commit([try write("a/8", ["x": 1, "y": 1])])
        let resumed = try await client.resumed(target, on: store)
        #expect(resumed.resets == 0)
        #expect(resumed.documents(1) == ["a/8"])
        await store.close()
    }

    @Test(arguments: [1, 5000])
    func `a target of documents resumes with those that have changed`(changes: Int) async throws {
        let temporary = try TemporaryStore()
        let store = try await temporary.open()
        let database = TemporaryStore.database
        let names = try ["a/1", "a/2", "a/3", "a/4"].map { try DocumentName(database: database, path: $0) }
        func write(_ name: DocumentName, _ n: Int64) -> Write { Write(.update(name, fields: ["n": .integer(n)])) }
        _ = try await store.commit(names.dropLast().map { write($0, 1) })
        let target = ListenTarget(id: 1, selection: .documents(names))
        var client = ListenClient(store)
        await client.stream.add(target)
        try await client.advance(untilAnswered: [1])
        for start in stride(from: 0, to: changes, by: 500) {
            let others = try (start..<min(changes, start + 500)).map {
                write(try DocumentName(database: database, path: "b/\($0)"), 1)
            }
            _ = try await store.commit(others)
        }
        _ = try await store.commit([write(names[0], 2), Write(.delete(names[1])), write(names[3], 1)])
        let resumed = try await client.resumed(target, on: store)
        #expect(resumed.resets == 0)
        #expect(resumed.documents(1) == ["a/1", "a/4"])
        #expect(resumed.gone[1]?.map(\.path) == ["a/2"])
        await store.close()
    }
}

extension ListenClient {
    /// Returns another client, after it has continued where this one is with a target.
    fileprivate func resumed(_ target: ListenTarget, on store: any DocumentStore) async throws -> ListenClient {
        var client = ListenClient(store)
        var target = target
        target.resumption = .token(token)
        await client.stream.add(target)
        try await client.advance(untilAnswered: [target.id])
        return client
    }
}
