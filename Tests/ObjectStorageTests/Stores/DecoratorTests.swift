import Synchronization
import SystemIO
import Testing

@testable import ObjectStorage

@Suite struct DecoratorTests {
    @Test func `waits double up to the limit, never in step, and end`() {
        var generator = SeededGenerator(seed: 1)
        var attempts = RetryPolicy.Attempts(RetryPolicy(first: .milliseconds(100), limit: .seconds(1), attempts: 8))
        var waits: [Duration] = []
        while let wait = attempts.wait(using: &generator) { waits.append(wait) }
        #expect(waits.count == 7)
        for (wait, ceiling) in zip(waits, [100, 200, 400, 800, 1000, 1000, 1000]) {
            #expect(wait <= .milliseconds(ceiling) && wait >= .milliseconds(ceiling / 2))
        }
        #expect(Set(waits).count == waits.count)
    }

    @Test func `the delay is at least the one that the server requests`() {
        var generator = SeededGenerator(seed: 2)
        var attempts = RetryPolicy.Attempts(RetryPolicy(first: .milliseconds(1), attempts: 3))
        #expect(attempts.wait(asked: .seconds(7), using: &generator) == .seconds(7))
    }

    @Test func `only passing failures are tried again, and not for ever`() async throws {
        let key = try ObjectKey("k")
        let waits = Mutex<[Duration]>([])
        let down = FaultyObjectStore(MemoryObjectStore(), failing: { _ in true })
        let store = RetryingObjectStore(
            down, policy: RetryPolicy(attempts: 4), sleep: { wait in waits.withLock { $0.append(wait) } })
        await #expect(throws: ObjectStorageError.self) { try await store.put(key, [1]) }
        #expect(down.failures == 4)
        #expect(waits.withLock { $0.count } == 3)

        let forbidden = FaultyObjectStore(
            MemoryObjectStore(), error: ObjectStorageError(.permission, "no"), failing: { _ in true })
        await #expect(throws: ObjectStorageError.self) { try await RetryingObjectStore(forbidden).put(key, [1]) }
        #expect(forbidden.failures == 1)
    }

    @Test func `a read that breaks is taken up where it broke`() async throws {
        let memory = MemoryObjectStore()
        let key = try ObjectKey("k")
        let content = (0..<1_500_000).map { UInt8(truncatingIfNeeded: $0 &* $0) }
        try await memory.put(key, content)
        // Operation 1 opens the object, 2 and 3 read parts, 4 fails, and 5 opens the rest.
        let faulty = FaultyObjectStore(memory, failing: { $0 == 4 || $0 == 7 })
        let store = RetryingObjectStore(faulty, sleep: { _ in })
        #expect(
            try await store.get(key, range: 10..<1_400_000).collect(limit: 2_000_000) == Array(content[10..<1_400_000]))
        #expect(faulty.failures == 2)
    }

    @Test func `a read that breaks is not continued in another version`() async throws {
        let memory = MemoryObjectStore()
        let key = try ObjectKey("k")
        try await memory.put(key, [UInt8](repeating: 1, count: 600_000))
        let store = RetryingObjectStore(FaultyObjectStore(memory, failing: { $0 == 3 }), sleep: { _ in })
        let reading = try await store.get(key)
        let iterator = reading.makeAsyncIterator()
        _ = try await iterator.next()
        try await memory.put(key, [UInt8](repeating: 2, count: 600_000))
        await #expect(throws: ObjectStorageError.self) { while try await iterator.next() != nil {} }
    }

    @Test func `a bucket lets the burst pass and then keeps the rate`() {
        let start = Duration.seconds(7)
        var bucket = TokenBucket(bytesPerSecond: 1000, burst: 500, now: start)
        #expect(bucket.take(500, now: start) == .zero)
        #expect(bucket.take(1000, now: start) == .seconds(1))
        #expect(bucket.take(1000, now: start + .seconds(1)) == .seconds(1))
        // After a long rest only the burst is available.
        #expect(bucket.take(1500, now: start + .seconds(100)) == .seconds(1))
    }

    @Test func `a limited store waits for the bytes that it transferred, up and down`() async throws {
        let waits = Mutex<Duration>(.zero)
        let store = LimitedObjectStore(
            MemoryObjectStore(), up: 1000, down: 2000, environment: .still { wait in waits.withLock { $0 = wait } })
        let key = try ObjectKey("k")
        try await store.put(key, [UInt8](repeating: 0, count: 5000))
        #expect(waits.withLock { $0 } == .seconds(4))
        _ = try await store.read(key, limit: 5000)
        #expect(waits.withLock { $0 } == .milliseconds(1500))
        store.limit(up: nil, down: nil)
        waits.withLock { $0 = .zero }
        try await store.put(key, [UInt8](repeating: 0, count: 5000))
        #expect(waits.withLock { $0 } == .zero)
    }

    @Test(arguments: [nil, 1_000_000])
    func `a waiting operation continues when the rate changes`(rate: Int?) async throws {
        let limited = Mutex<LimitedObjectStore?>(nil)
        let waits = Mutex<[Duration]>([])
        let store = LimitedObjectStore(
            MemoryObjectStore(), up: 10,
            environment: .still { wait in
                let count = waits.withLock { waits in
                    waits.append(wait)
                    return waits.count
                }
                if count == 3 { limited.withLock { $0 }?.limit(up: rate, down: nil) }
            })
        limited.withLock { $0 = store }
        try await store.put(try ObjectKey("k"), [UInt8](repeating: 0, count: 5000))
        #expect(waits.withLock { $0 } == [.seconds(1), .seconds(2), .seconds(3)])
        limited.withLock { $0 = nil }
    }
}

extension Environment {
    /// Returns an environment in which time stands still and sleeping returns at once.
    static func still(onSleep: @escaping @Sendable (Duration) -> Void) -> Environment {
        var environment = system
        environment.now = { .zero }
        environment.sleepUntil = { onSleep($0) }
        return environment
    }
}
