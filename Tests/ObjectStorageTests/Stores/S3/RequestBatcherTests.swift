import Synchronization
import Testing

@testable import ObjectStorage

/// Sends groups when the test says so.
private final class Link: Sendable {
    private struct State {
        var groups: [[String]] = []
        var open: [CheckedContinuation<[Result<Void, any Error>], Never>] = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
        var cancelled = 0
    }

    private let state = Mutex(State())

    var groups: [[String]] { state.withLock { $0.groups } }
    var cancelled: Int { state.withLock { $0.cancelled } }

    func send(_ puts: [S3ObjectStore.SmallPut]) async -> [Result<Void, any Error>] {
        await withTaskCancellationHandler {
            await withCheckedContinuation { done in
                let reached = state.withLock { state in
                    state.groups.append(puts.map(\.key.text))
                    state.open.append(done)
                    let reached = state.watchers.filter { $0.count <= state.groups.count }
                    state.watchers.removeAll { $0.count <= state.groups.count }
                    return reached
                }
                for watcher in reached { watcher.continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.cancelled += 1 }
        }
    }

    /// Waits until this number of groups has begun.
    func began(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.groups.count >= count { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Ends the oldest group with the results of its puts.
    func end(_ results: Result<Void, any Error>...) {
        state.withLock { $0.open.removeFirst() }.resume(returning: results)
    }
}

@Suite struct GatheringQueueTests {
    private let queue = RequestBatcher<S3ObjectStore.SmallPut, Void>(byteLimit: 100) { $0.content.count }
    private let link = Link()

    private func put(_ name: String, _ count: Int = 10) throws -> Task<Void, any Error> {
        let key = try ObjectKey(name)
        return Task { [queue, link] in
            let put = S3ObjectStore.SmallPut(key: key, content: [UInt8](repeating: 0, count: count))
            try await queue.run(put) { await link.send($0) }
        }
    }

    /// Waits until the queue has this number of requests. The queue does not report it, so it is
    /// polled.
    private func waits(_ count: Int) async {
        while queue.waitingCount < count { await Task.yield() }
    }

    @Test func `requests during a transfer form groups up to the limit`() async throws {
        var puts = [try put("a")]
        await link.began(1)
        puts.append(try put("b", 1000))
        await link.began(2)
        for (index, name) in ["c", "d", "e"].enumerated() {
            puts.append(try put(name, 45))
            await waits(index + 1)
        }
        #expect(link.groups == [["a"], ["b"]])
        link.end(.success(()))
        await link.began(3)
        link.end(.success(()))
        await link.began(4)
        #expect(link.groups == [["a"], ["b"], ["c", "d"], ["e"]])
        link.end(.success(()), .failure(ObjectStorageError(.full, "no room")))
        link.end(.success(()))
        for (index, put) in puts.enumerated() {
            if index == 3 {
                await #expect(throws: ObjectStorageError.self) { try await put.value }
            } else {
                try await put.value
            }
        }
    }

    @Test func `a cancelled put ends at once, and its group ends when all its puts are cancelled`() async throws {
        // Two that arrive together could form one group.
        let first = try put("a")
        await link.began(1)
        let second = try put("b")
        await link.began(2)
        let third = try put("c")
        await waits(1)
        third.cancel()
        await #expect(throws: CancellationError.self) { try await third.value }
        let (fourth, fifth) = (try put("d"), try put("e"))
        await waits(2)
        link.end(.success(()))
        await link.began(3)
        fourth.cancel()
        await #expect(throws: CancellationError.self) { try await fourth.value }
        #expect(link.cancelled == 0)
        fifth.cancel()
        await #expect(throws: CancellationError.self) { try await fifth.value }
        #expect(link.cancelled == 1)
        link.end(.success(()))
        link.end(.success(()), .success(()))
        _ = (try await first.value, try await second.value)
        // A task that was cancelled before puts nothing.
        let gate = Mutex<CheckedContinuation<Void, Never>?>(nil)
        let late = Task { [queue, link] in
            await withCheckedContinuation { continuation in gate.withLock { $0 = continuation } }
            let put = S3ObjectStore.SmallPut(key: try ObjectKey("f"), content: [])
            try await queue.run(put) { await link.send($0) }
        }
        while gate.withLock({ $0 == nil }) { await Task.yield() }
        late.cancel()
        gate.withLock { $0 }?.resume()
        await #expect(throws: CancellationError.self) { try await late.value }
        #expect(link.groups.count == 3)
    }
}
