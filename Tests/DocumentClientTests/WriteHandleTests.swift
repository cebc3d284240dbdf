import DocumentModel
import FerryKitTestSupport
import SystemTestKit
import Testing

@testable import DocumentClient

@Suite(.timeLimit(.minutes(1))) struct WriteHandleTests {
    let remote = ServedRemote()

    private func running(
        _ body: (DocumentDatabase) async throws -> Void, options: ClientOptions = ClientOptions()
    ) async throws {
        let client = try DocumentDatabase(path: ":memory:", database: testDatabase, remote: remote, options: options)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await client.run() }
            try await body(client)
            group.cancelAll()
        }
        await client.close()
    }

    @Test func `a write returns the time of its commit`() async throws {
        try await running { client in
            let time = try await client.set(name("tasks/a"), ["n": 1]).committed()
            #expect(time == remote.with { $0.log.last?.time })
            let later = try await client.merge(name("tasks/a"), [path("n"): 2]).committed()
            #expect(try #require(later) > #require(time))
        }
    }

    @Test func `writes of one document that become one commit have one time`() async throws {
        let client = try DocumentDatabase(path: ":memory:", database: testDatabase, remote: remote)
        let first = try await client.merge(name("tasks/a"), [path("n"): 2])
        let second = try await client.merge(name("tasks/a"), [path("m"): 3])
        // A document that was never sent is not deleted remotely.
        try await client.write([.create(name("tasks/b"), [:])])
        #expect(try await client.delete(name("tasks/b")).committed() == nil)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await client.run() }
            let (time, same) = (try await first.committed(), try await second.committed())
            #expect(time != nil && same == time)
            group.cancelAll()
        }
        #expect(remote.with(\.commitCount) == 1)
        await client.close()
    }

    @Test func `a rejected write gives the reason`() async throws {
        try await running { client in
            remote.with { $0.refuses = { $0.name.path == "tasks/bad" ? .permission : nil } }
            let bad = try await client.set(name("tasks/bad"), [:])
            let error = await #expect(throws: DocumentClientError.self) { try await bad.committed() }
            #expect(error?.code == .rejected && error?.message.contains("permission") == true)
            let pending = try #require(try await client.pendingMutations().first)
            try await client.discard(pending.id)
            #expect(try await !client.document(name("tasks/bad")).exists)
        }
    }

    @Test func `a discarded write and a closed client end the wait`() async throws {
        try await running { client in
            remote.with { $0.refuses = { $0.name.path == "tasks/bad" ? .permission : nil } }
            let both = try await client.write(
                [.set(name("tasks/bad"), [:]), .set(name("tasks/good"), [:])], asOne: true)
            let rejected = await #expect(throws: DocumentClientError.self) { try await both.committed() }
            #expect(rejected?.code == .rejected)
            remote.fail(.transient)
            let open = try await client.set(name("tasks/c"), [:])
            await client.close()
            let closed = await #expect(throws: DocumentClientError.self) { try await open.committed() }
            #expect(closed?.code == .closed)
        }
    }

    @Test func `a cancelled wait ends and the write is sent`() async throws {
        try await running { client in
            remote.fail(.transient)
            let write = try await client.set(name("tasks/a"), [:])
            let waiting = Task { try await write.committed() }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
            remote.fail(nil)
            await client.networkChanged()
            #expect(try await write.committed() != nil)
        }
    }

    @Test func `a query that the remote refuses ends with its reason`() async throws {
        remote.refuse(toWatch: "tasks")
        try await running { client in
            try await client.set(name("tasks/a"), [:]).committed()
            var snapshots = client.snapshots(of: tasksQuery).makeAsyncIterator()
            // The local results come first.
            #expect(try await snapshots.next()?.documents.map(\.name.path) == ["tasks/a"])
            let error = await #expect(throws: RemoteError.self) {
                while try await snapshots.next() != nil {}
            }
            #expect(error?.code == .permission)
        }
    }

    @Test func `a state file is open once`() async throws {
        let directory = try TemporaryDirectory()
        func open() throws -> DocumentDatabase {
            try DocumentDatabase(path: directory.path + "/state", database: testDatabase, remote: remote)
        }
        let first = try open()
        let error = #expect(throws: DocumentClientError.self) { try open() }
        #expect(error?.code == .inUse)
        await first.close()
        try await open().close()
    }

    @Test func `a document is watched by its name`() throws {
        let query = Query(document: try name("tasks/a/history/b"))
        #expect(query.soleDocument == (try name("tasks/a/history/b")))
        #expect(query.parent.path == "tasks/a" && query.collectionID == "history")
        var limited = query
        limited.limit = 1
        #expect(limited.soleDocument == nil && tasksQuery.soleDocument == nil)
    }

    @Test func `receipts are named after the replica`() async throws {
        var options = ClientOptions()
        options.replicaID = "r1"
        options.receipts = CommitReceipts(collection: "receipts", fields: ["userId": "me"])
        try await running(
            { client in
                try await client.set(name("tasks/a"), ["n": 1]).committed()
                #expect(remote.with { $0.documents.count } == 1)
                try await client.update(
                    name("tasks/a"), [:], transforms: [FieldTransform(path("n"), .increment(1))]
                ).committed()
                let receipt = try name("receipts/r1")
                #expect(remote.with { $0.documents[receipt]?[FieldPath(key: "userId")] } == "me")
            }, options: options)
    }
}
