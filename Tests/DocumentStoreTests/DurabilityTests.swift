import Dispatch
import DocumentModel
import DocumentStore
import DocumentStoreTestKit
import FirestoreProtocol
import Glibc
import SQLite
import Synchronization
import SystemIO
import Testing

/// Tests that data that is not on disk is never visible.
struct DurabilityTests {
    /// A disk whose syncs can be delayed or fail.
    private final class Disk: Sendable {
        private struct State {
            var isHeld = false
            var isWaiting = false
            var failures = 0
            var syncs = 0
            var held: CheckedContinuation<Void, Never>?
        }

        private let state = Mutex(State())
        private let gate = DispatchSemaphore(value: 0)

        var syncs: Int { state.withLock { $0.syncs } }

        func hold() { state.withLock { $0.isHeld = true } }

        /// Lets the delayed sync and all later ones continue.
        func release() {
            state.withLock { $0.isHeld = false }
            gate.signal()
        }

        func failNext(_ count: Int) { state.withLock { $0.failures = count } }

        /// Waits until a sync is delayed.
        func waitForSync() async {
            await withCheckedContinuation { continuation in
                let isWaiting = state.withLock { state in
                    if !state.isWaiting { state.held = continuation }
                    return state.isWaiting
                }
                if isWaiting { continuation.resume() }
            }
        }

        func synchronize(_ file: borrowing FileDescriptor) throws {
            let fails = state.withLock { state in
                state.syncs += 1
                defer { state.failures = max(0, state.failures - 1) }
                return state.failures > 0
            }
            if fails { throw SystemError(.damagedMedium, operation: "write to disk", path: file.path) }
            let (isHeld, held) = state.withLock { state in
                state.isWaiting = state.isHeld
                defer { state.held = nil }
                return (state.isHeld, state.held)
            }
            if isHeld {
                held?.resume()
                gate.wait()
            }
            try file.synchronizeContent()
        }
    }

    private let temporary: TemporaryStore
    private let disk = Disk()
    private let names: [DocumentName]

    init() throws {
        temporary = try TemporaryStore()
        names = try (0..<3).map { try DocumentName(database: TemporaryStore.database, path: "a/\($0)") }
    }

    private func open() async throws -> SQLiteDocumentStore {
        var configuration = SQLiteDocumentStore.Configuration()
        configuration.synchronize = { [disk] in try disk.synchronize($0) }
        return try await temporary.open(configuration)
    }

    private func write(_ place: Int, _ n: Int64) -> [Write] {
        [Write(.update(names[place], fields: ["n": .integer(n)]))]
    }

    private var query: Query { Query(parent: ParentName(TemporaryStore.database), collectionID: "a") }

    private func numbers(_ store: SQLiteDocumentStore) async throws -> [Value?] {
        var documents = try await store.query(query, at: .strong).documents.makeAsyncIterator()
        var values: [Value?] = []
        while let page = try await documents.nextPage() { values += try page.map { try Document($0).fields["n"] } }
        return values
    }

    /// Waits until SQLite has applied this number of commits, whatever the disk does. SQLite does
    /// not report it, so it is polled.
    private func waitForApplied(_ count: Int) throws {
        let sqlite = try SQLiteDatabase(path: temporary.path, configuration: SQLiteConfiguration().readOnly)
        defer { sqlite.close() }
        while try sqlite.first("SELECT count(*) FROM change", [], { $0.int64(0) }) != Int64(count) { usleep(100) }
    }

    @Test func `a commit is not visible before its sync, and later commits share the next sync`() async throws {
        let store = try await open()
        _ = try await store.commit(write(0, 1))
        let deleted = try await store.commit(write(1, 1)).commitTime
        var client = ListenClient(store)
        await client.stream.add(ListenTarget(id: 2, selection: .query(query)))
        try await client.advance(through: deleted)

        let before = disk.syncs
        disk.hold()
        async let held: Void = disk.waitForSync()
        let first = Task { try await store.commit(write(0, 2)) }
        await held
        let rest = [[Write(.delete(names[1]))], write(2, 2)].map { write in Task { try await store.commit(write) } }
        try waitForApplied(5)
        #expect(try await numbers(store) == [.integer(1), .integer(1)])
        #expect(try await store.get(names, at: .strong).documents.map { $0 != nil } == [true, true, false])

        disk.release()
        let time = try await first.value.commitTime
        var last = time
        for task in rest { last = max(last, try await task.value.commitTime) }
        #expect(disk.syncs - before == 2)
        #expect(try await numbers(store) == [.integer(2), .integer(2)])
        #expect(try await store.get(names, at: .at(time)).documents.map { $0 != nil } == [true, true, false])
        try await client.advance(through: last)
        #expect(client.documents(2) == ["a/0", "a/2"])
        await client.stream.cancel()
        await store.close()
    }

    @Test func `a sync that failed is made good elsewhere`() async throws {
        var store = try await open()
        var client = ListenClient(store)
        await client.stream.add(ListenTarget(id: 2, selection: .query(query)))
        try await client.advance()
        disk.failNext(1)
        let time = try await store.commit(write(0, 1)).commitTime
        try await client.advance(through: time)
        #expect(client.documents(2) == ["a/0"])
        _ = try await store.commit(write(1, 1))
        #expect(try await store.check() == [])
        await client.stream.cancel()
        await store.close()
        store = try await open()
        #expect(try await numbers(store) == [.integer(1), .integer(1)])
        await store.close()
    }

    @Test func `while writes fail commits are refused and reads continue`()
        async throws
    {
        let store = try await open()
        _ = try await store.commit(write(0, 1))
        var client = ListenClient(store)
        await client.stream.add(ListenTarget(id: 2, selection: .query(query)))
        try await client.advance()
        // The reader keeps the log from being moved into the file.
        let reader = try SQLiteDatabase(path: temporary.path, configuration: SQLiteConfiguration().readOnly)
        try reader.executeScript("BEGIN; SELECT count(*) FROM change")
        disk.failNext(1)
        for n in 2...3 as ClosedRange<Int64> {
            let error = await #expect(throws: DocumentStoreError.self) { _ = try await store.commit(write(0, n)) }
            #expect(error?.code == .unavailable)
            #expect(error?.message.contains("nothing is committed until it does") == true)
        }
        #expect(try await numbers(store) == [.integer(1)])
        try reader.executeScript("COMMIT")
        let time = try await store.commit(write(1, 4)).commitTime
        // SQLite had applied the first of the two; its client was only told that it might be lost.
        #expect(try await numbers(store) == [.integer(2), .integer(4)])
        try await client.advance(through: time)
        #expect(client.documents(2) == ["a/0", "a/1"])
        #expect(try await store.check() == [])
        await client.stream.cancel()
        reader.close()
        await store.close()
    }
}
