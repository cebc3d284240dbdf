import DocumentModel
import DocumentStore
import DocumentStoreTestKit
import FirestoreProtocol
import Glibc
import SQLite
import Synchronization
import SystemIO
import Testing

struct SQLiteDocumentStoreTests {
    /// A clock that only moves when it is set.
    private final class HandClock: Sendable {
        private let time: Mutex<Int64>

        init(_ time: Int64) { self.time = Mutex(time) }

        func set(_ time: Int64) { self.time.withLock { $0 = time } }

        var now: @Sendable () -> Int64 { { self.time.withLock { $0 } } }
    }

    private let temporary: TemporaryStore
    private let name: DocumentName
    private let second: Int64 = 1_000_000

    init() throws {
        temporary = try TemporaryStore()
        name = try DocumentName(database: TemporaryStore.database, path: "a/1")
    }

    private func write(_ n: Int64) -> [Write] { [Write(.update(name, fields: ["n": .integer(n)]))] }

    private func query(_ collection: String) -> Query {
        Query(parent: ParentName(TemporaryStore.database), collectionID: collection)
    }

    @Test func `documents are there after a restart`() async throws {
        var store = try await temporary.open()
        let time = try await store.commit(write(1)).commitTime
        await store.close()
        store = try await temporary.open()
        #expect(try await store.get(name)?.updateTime == time)
        #expect(try await store.check() == [])
        await store.close()
    }

    @Test func `time advances after a restart, also with the system's clock set back`() async throws {
        let clock = HandClock(1_000 * second)
        var configuration = SQLiteDocumentStore.Configuration()
        configuration.now = clock.now
        var store = try await temporary.open(configuration)
        _ = try await store.commit(write(1))
        clock.set(1_001 * second)
        let read = try await store.get([name], at: .strong).readTime
        await store.close()
        clock.set(5 * second)
        store = try await temporary.open(configuration)
        #expect(try await store.get([name], at: .strong).readTime >= read)
        #expect(try await store.commit(write(2)).commitTime > read)
        #expect(try await store.get([name], at: .at(read)).documents[0]?.fields == EncodedFields(["n": .integer(1)]))
        await store.close()
    }

    @Test func `history older than the retention goes, step by step, and reads of it are refused`() async throws {
        let clock = HandClock(1_000 * second)
        var configuration = SQLiteDocumentStore.Configuration()
        configuration.now = clock.now
        configuration.retention = .seconds(60)
        let store = try await temporary.open(configuration)
        let first = try await store.commit(write(1)).commitTime
        clock.set(1_030 * second)
        let second = try await store.commit(write(2)).commitTime
        clock.set(1_080 * self.second)
        for n in 3...5 as ClosedRange<Int64> { _ = try await store.commit(write(n)) }
        await #expect(throws: DocumentStoreError(.failedPrecondition, "The requested 'read_time' is too old.")) {
            _ = try await store.get([name], at: .at(Timestamp(microseconds: first.microseconds - 1)))
        }
        #expect(try await store.get([name], at: .at(second)).documents[0]?.fields == EncodedFields(["n": .integer(2)]))
        #expect(try await store.check() == [])
        await store.close()
    }

    @Test func `a resume token works after a restart, and only changes are reported`() async throws {
        var store = try await temporary.open()
        for index in 0..<5 {
            let name = try DocumentName(database: TemporaryStore.database, path: "a/\(index)")
            _ = try await store.commit([Write(.update(name, fields: [:]))])
        }
        var client = ListenClient(store)
        await client.stream.add(ListenTarget(id: 2, selection: .query(query("a"))))
        try await client.advance()
        await store.close()
        store = try await temporary.open()
        let time = try await store.commit(write(7)).commitTime
        var resumed = ListenClient(store)
        await resumed.stream.add(
            ListenTarget(id: 2, selection: .query(query("a")), resumption: .token(client.token), expectedCount: 5))
        try await resumed.advance(through: time)
        #expect(resumed.resets == 0)
        #expect(resumed.documents(2) == ["a/1"])
        #expect(resumed.targets[2]?.filterCount == 5)
        await resumed.stream.cancel()
        await store.close()
    }

    @Test func `a target with a token or a time before the history starts over, one within it does not`() async throws {
        let clock = HandClock(1_000 * second)
        var configuration = SQLiteDocumentStore.Configuration()
        configuration.now = clock.now
        configuration.retention = .seconds(60)
        let store = try await temporary.open(configuration)
        let first = try await store.commit(write(1)).commitTime
        var client = ListenClient(store)
        await client.stream.add(ListenTarget(id: 2, selection: .query(query("a"))))
        try await client.advance()
        let old = client.token
        clock.set(1_010 * second)
        _ = try await store.commit(write(10))
        clock.set(1_050 * second)
        let marked = try await store.commit(write(2)).commitTime
        try await client.advance(through: marked)
        clock.set(1_100 * second)
        // The history is trimmed in steps, with commits.
        for n in 3...5 as ClosedRange<Int64> { _ = try await store.commit(write(n)) }
        let gone = try DocumentName(database: TemporaryStore.database, path: "a/2")
        _ = try await store.commit([Write(.update(gone, fields: [:]))])
        _ = try await store.commit([Write(.delete(gone))])
        for (token, time, resets) in [(old, first, 1), (client.token, marked, 0)] {
            for isToken in [true, false] {
                var resumed = ListenClient(store)
                await resumed.stream.add(
                    ListenTarget(
                        id: 2, selection: .query(query("a")), resumption: isToken ? .token(token) : .readTime(time),
                        expectedCount: 1))
                try await resumed.advance()
                #expect(resumed.resets == resets, "\(time), token \(isToken)")
                #expect(resumed.documents(2) == ["a/1"], "\(time), token \(isToken)")
                await resumed.stream.cancel()
            }
        }
        await store.close()
    }

    @Test func `a target that saw commits which a copy lacks starts over, an earlier one goes on`() async throws {
        let clock = HandClock(1_000 * second)
        var configuration = SQLiteDocumentStore.Configuration()
        configuration.now = clock.now
        let store = try await temporary.open(configuration)
        let kept = try await store.commit(write(1)).commitTime
        await store.close()
        let path = temporary.path
        let copy = try FileSystem.read(path)
        let former = try await temporary.open(configuration)
        clock.set(1_010 * second)
        let lost = try await former.commit(write(2)).commitTime
        var client = ListenClient(former)
        await client.stream.add(ListenTarget(id: 2, selection: .query(query("a"))))
        try await client.advance()
        await former.close()
        for suffix in ["-wal", "-shm"] { try FileSystem.remove(path + suffix) }
        try FileSystem.replace(path, with: copy)
        try temporary.file.takeOver(at: 1_020 * second)
        let promoted = try await temporary.open(configuration)
        let later = try await promoted.commit(write(3)).commitTime
        #expect(later > lost)
        for (time, isToken, resets) in [(lost, true, 1), (lost, false, 1), (kept, false, 0), (later, false, 0)] {
            var resumed = ListenClient(promoted)
            await resumed.stream.add(
                ListenTarget(
                    id: 2, selection: .query(query("a")), resumption: isToken ? .token(client.token) : .readTime(time)))
            try await resumed.advance()
            #expect(resumed.resets == resets, "\(time), token \(isToken)")
            await resumed.stream.cancel()
        }
        await promoted.close()
    }

    @Test func `a target with a token of another database starts over`() async throws {
        let other = try TemporaryStore()
        let foreign = try await other.open()
        var client = ListenClient(foreign)
        await client.stream.add(ListenTarget(id: 2, selection: .query(query("a"))))
        try await client.advance()
        await foreign.close()
        let store = try await temporary.open()
        _ = try await store.commit(write(1))
        var resumed = ListenClient(store)
        await resumed.stream.add(ListenTarget(id: 2, selection: .query(query("a")), resumption: .token(client.token)))
        try await resumed.advance()
        #expect(resumed.resets == 1)
        #expect(resumed.documents(2) == ["a/1"])
        await resumed.stream.cancel()
        await store.close()
    }

    @Test func `an idle listener receives a boundary at each heartbeat`() async throws {
        var configuration = SQLiteDocumentStore.Configuration()
        configuration.heartbeat = .milliseconds(20)
        let store = try await temporary.open(configuration)
        var client = ListenClient(store)
        await client.stream.add(ListenTarget(id: 2, selection: .query(query("a"))))
        try await client.advance()
        let first = client.readTime
        try await client.advance()
        try await client.advance()
        #expect(client.readTime >= first)
        await client.stream.cancel()
        #expect(try await client.stream.next() == nil)
        await store.close()
    }

    @Test func `a commit waits for a lock no longer than the limit`() async throws {
        var configuration = SQLiteDocumentStore.Configuration()
        configuration.lockWaitLimit = .milliseconds(50)
        let store = try await temporary.open(configuration)
        _ = try await store.commit(write(1))
        let id = try await store.beginTransaction(.readWrite(retry: nil))
        _ = try await store.get([name], at: .transaction(id))
        await #expect(throws: DocumentStoreError(.aborted, "Transaction lock timeout.")) {
            _ = try await store.commit(write(2))
        }
        try await store.rollback(id)
        _ = try await store.commit(write(3))
        await store.close()
    }

    @Test func `an idle transaction expires and lets others go`() async throws {
        var configuration = SQLiteDocumentStore.Configuration()
        configuration.transactionIdleLimit = .milliseconds(50)
        let store = try await temporary.open(configuration)
        let id = try await store.beginTransaction(.readWrite(retry: nil))
        _ = try await store.get([name], at: .transaction(id))
        _ = try await store.commit(write(2))
        await #expect(throws: DocumentStoreError.self) {
            _ = try await store.commit(write(3), transaction: id, guarding: nil)
        }
        await store.close()
    }

    @Test func `documents stored before a field was inherited are updated once`() async throws {
        var store = try await temporary.open()
        func name(_ path: String) throws -> DocumentName { try DocumentName(database: store.database, path: path) }
        let stale = try name("tasks/1/history/1")
        let fields: [(String, String?)] = [
            ("tasks/1", "new"), ("tasks/1/history/1", "old"), ("tasks/1/history/2", "new"), ("tasks/1/history/3", nil),
            ("gone/1/history/1", "old"), ("bare/1", nil), ("bare/1/history/1", "old"),
        ]
        _ = try await store.commit(
            try fields.map { path, list in
                Write(.update(try name(path), fields: list.map { ["listId": .string($0)] } ?? [:]))
            })
        let before = try await store.get(name("tasks/1/history/2"))
        await store.close()
        var configuration = SQLiteDocumentStore.Configuration()
        configuration.inheritedFields = ["listId"]
        for _ in 0..<2 {
            store = try await temporary.open(configuration)
            #expect(try await store.get(stale)?.fields.decoded() == ["listId": .string("new")])
            #expect(try await store.get(name("tasks/1/history/2")) == before)
            #expect(try await store.get(name("tasks/1/history/3"))?.fields.decoded() == [:])
            #expect(try await store.get(name("gone/1/history/1"))?.fields.decoded() == ["listId": .string("old")])
            #expect(try await store.get(name("bare/1/history/1"))?.fields.decoded() == [:])
            #expect(try await store.check() == [])
            await store.close()
        }
    }

    @Test func `a backup is whole, sound, and has a history of its own`() async throws {
        let store = try await temporary.open()
        let time = try await store.commit(write(1)).commitTime
        var client = ListenClient(store)
        await client.stream.add(ListenTarget(id: 2, selection: .query(query("a"))))
        try await client.advance()
        let path = temporary.directory + "/copy.db"
        try await store.backUp(to: path)
        _ = try await store.commit(write(2))
        await store.close()
        let copy = try await SQLiteDocumentStore(TemporaryStore.database, path: path)
        #expect(try await copy.get(name)?.updateTime == time)
        #expect(try await copy.check() == [])
        var resumed = ListenClient(copy)
        await resumed.stream.add(ListenTarget(id: 2, selection: .query(query("a")), resumption: .token(client.token)))
        try await resumed.advance()
        #expect(resumed.resets == 1)
        await resumed.stream.cancel()
        await copy.close()
    }

    @Test func `a restart keeps the lineage, a backup and a copy of the file have others`() async throws {
        var store = try await temporary.open()
        let early = try await store.commit(write(1)).commitTime
        let lineage = try await store.lineage(having: early)
        let (backup, copy) = (temporary.directory + "/backup.db", temporary.directory + "/copy.db")
        try await store.backUp(to: backup)
        let file = try SQLiteDatabase(path: temporary.path)
        try file.backUp(to: copy)
        file.close()
        let late = try await store.commit(write(2)).commitTime
        await store.close()
        store = try await temporary.open()
        #expect(try await store.lineage(having: late) == lineage)
        await store.close()
        for (path, seen, isSame) in [(backup, early, false), (copy, early, true), (copy, late, false)] {
            let restored = try await SQLiteDocumentStore(TemporaryStore.database, path: path)
            // Later commits of the restored store do not hide what it lacks.
            _ = try await restored.commit(write(3))
            #expect(try await (restored.lineage(having: seen) == lineage) == isSame)
            await restored.close()
        }
    }

    @Test func `after close every call fails and none hangs`() async throws {
        let store = try await temporary.open()
        let stream = store.listen()
        await store.close()
        await #expect(throws: DocumentStoreError.self) { _ = try await store.commit(write(1)) }
        await #expect(throws: DocumentStoreError.self) { _ = try await store.get(name) }
        #expect(try await stream.next() == nil)
    }

    @Test func `the error of a damaged file has its name and a remedy`() async throws {
        var store = try await temporary.open()
        _ = try await store.commit(write(1))
        await store.close()
        #expect(truncate(temporary.path, 5000) == 0)
        do {
            store = try await temporary.open()
            let problems = try await store.check()
            #expect(!problems.isEmpty)
        } catch let error as DocumentStoreError {
            #expect(error.code == .unavailable)
            // The message is for the operator of the server, not for clients.
            #expect(error.description.contains(temporary.path) && error.description.contains("backup"))
            #expect(!error.message.contains(temporary.path))
        }
    }

    @Test func `transfers in concurrent transactions keep the sum that every reader sees`() async throws {
        let store = try await temporary.open()
        let accounts = try (0..<4).map { try DocumentName(database: TemporaryStore.database, path: "accounts/\($0)") }
        _ = try await store.commit(accounts.map { Write(.update($0, fields: ["n": .integer(100)])) })
        let query = query("accounts")
        try await withThrowingTaskGroup { group in
            for client in 0..<6 {
                group.addTask {
                    var random = SeededGenerator(seed: UInt64(client))
                    for _ in 0..<15 {
                        let pair = accounts.shuffled(using: &random).prefix(2)
                        try await Self.transfer(
                            Int64.random(in: 1...9, using: &random), between: Array(pair), in: store)
                    }
                }
            }
            group.addTask {
                for _ in 0..<30 {
                    var sum: Int64 = 0
                    for try await account in try await store.query(query).documents {
                        sum += try account.fields.decoded()["n"]?.integerValue ?? 0
                    }
                    #expect(sum == 400)
                }
            }
            try await group.waitForAll()
        }
        #expect(try await store.check() == [])
        await store.close()
    }

    private static func transfer(
        _ amount: Int64, between pair: [DocumentName], in store: SQLiteDocumentStore
    ) async throws {
        var retry: TransactionID?
        while true {
            let id = try await store.beginTransaction(.readWrite(retry: retry))
            retry = id
            do {
                let read = try await store.get(pair, at: .transaction(id)).documents
                let balances = try read.map { try $0?.fields.decoded()["n"]?.integerValue ?? 0 }
                let writes = zip(pair, [balances[0] - amount, balances[1] + amount]).map { name, balance in
                    Write(.update(name, fields: ["n": .integer(balance)]))
                }
                _ = try await store.commit(writes, transaction: id, guarding: nil)
                return
            } catch let error as DocumentStoreError where error.code == .aborted {}
        }
    }
}
