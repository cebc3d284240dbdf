import ObjectStorage
import Synchronization

/// A store that counts its operations and holds every put and read at a gate while the gate is
/// closed. A cancelled task leaves the gate with `CancellationError`.
final class GatedObjectStore: ObjectStore {
    struct Counts: Sendable, Equatable {
        var puts = 0
        var gets = 0
        var heads = 0
        var putKeys: [String] = []
    }

    private struct State {
        var counts = Counts()
        var isOpen = true
        var closesAfter: Int?
        var held: [Int: CheckedContinuation<Void, any Error>] = [:]
        var cancelled: Set<Int> = []
        var next = 0
        /// The number of operations that have passed the gate and have not ended.
        var underWay = 0
        var arrivals: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

        /// The number of operations at the gate, if all others have ended; otherwise 0.
        var resting: Int { underWay == 0 ? held.count : 0 }

        /// Returns the continuations whose condition holds now.
        mutating func takeArrivals() -> [CheckedContinuation<Void, Never>] {
            let count = resting
            let arrived = arrivals.filter { $0.count <= count }
            arrivals.removeAll { $0.count <= count }
            return arrived.map(\.continuation)
        }
    }

    /// An operation that has passed the gate; it ends when this object is released.
    private final class Passage: Sendable {
        private let store: GatedObjectStore

        init(_ store: GatedObjectStore) { self.store = store }

        deinit {
            let arrived = store.state.withLock { state in
                state.underWay -= 1
                return state.takeArrivals()
            }
            for arrival in arrived { arrival.resume() }
        }
    }

    private let store: any ObjectStore
    private let state = Mutex(State())

    init(_ store: any ObjectStore) { self.store = store }

    var counts: Counts { state.withLock { $0.counts } }

    /// Lets this number of puts and reads pass, then closes the gate.
    func close(after operations: Int) {
        state.withLock { state in
            state.closesAfter = operations
            if operations == 0 { state.isOpen = false }
        }
    }

    func open() {
        let held = state.withLock { state in
            state.isOpen = true
            state.closesAfter = nil
            state.underWay += state.held.count
            defer { state.held = [:] }
            return state.held.values
        }
        for continuation in held { continuation.resume() }
    }

    /// Waits until at least `count` operations are held and all that passed have ended: puts are in
    /// the store and counted, contents are read. Until the gate is opened nothing changes.
    func waitForHeld(_ count: Int = 1) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.resting >= count { return true }
                state.arrivals.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    func put(_ key: ObjectKey, _ content: [UInt8], type: MIMEType, hash: ContentHash?) async throws {
        let passage = try await pass()
        try await store.put(key, content, type: type, hash: hash)
        state.withLock { state in
            state.counts.puts += 1
            state.counts.putKeys.append(key.text)
        }
        extendLifetime(passage)
    }

    func get(_ key: ObjectKey, range: Range<Int64>?) async throws -> ObjectContent {
        let passage = try await pass()
        state.withLock { $0.counts.gets += 1 }
        let content = try await store.get(key, range: range)
        return ObjectContent(info: content.info, length: content.length) {
            defer { extendLifetime(passage) }
            return try await content.makeAsyncIterator().next()
        }
    }

    func head(_ key: ObjectKey) async throws -> ObjectInfo? {
        state.withLock { $0.counts.heads += 1 }
        return try await store.head(key)
    }

    func list(prefix: String, after: ObjectKey?, limit: Int) async throws -> ObjectPage {
        try await store.list(prefix: prefix, after: after, limit: limit)
    }

    func delete(_ key: ObjectKey) async throws { try await store.delete(key) }

    private func pass() async throws -> Passage {
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (result, arrived) = state.withLock { state in enter(&state, id, continuation) }
                if let result { continuation.resume(with: result) }
                for arrival in arrived { arrival.resume() }
            }
        } onCancel: {
            let held = state.withLock { state in
                state.cancelled.insert(id)
                return state.held.removeValue(forKey: id)
            }
            held?.resume(throwing: CancellationError())
        }
        return Passage(self)
    }

    private func enter(
        _ state: inout State, _ id: Int, _ continuation: CheckedContinuation<Void, any Error>
    ) -> (Result<Void, any Error>?, [CheckedContinuation<Void, Never>]) {
        if state.cancelled.contains(id) { return (.failure(CancellationError()), []) }
        if let left = state.closesAfter {
            if left == 0 { state.isOpen = false }
            state.closesAfter = max(0, left - 1)
        }
        guard !state.isOpen else {
            state.underWay += 1
            return (.success(()), [])
        }
        state.held[id] = continuation
        return (nil, state.takeArrivals())
    }
}
