import DocumentModel
import FirestoreProtocol
import Synchronization

/// The queue of one listen stream: the requests of its client and the commits that may concern its
/// targets, in order.
///
/// Commits beyond a limit are dropped. The stream reads them from the log when its consumer pulls
/// again.
final class ListenMailbox: Sendable {
    enum Item: Sendable {
        case add(ListenTarget)
        case remove(Int32)
        /// A commit, with the candidate targets of each change.
        case commit(CommitRecord, targets: [[Int32]])
        /// Commits are missing from here on until the stream has caught up.
        case lagging
        /// Nothing arrived for the duration of a heartbeat.
        case idle
        case closed
    }

    private struct State {
        var items: [Item] = []
        var head = 0
        var changeCount = 0
        var changeBytes = 0
        var requestCount = 0
        var isLagging = false
        var isClosed = false
        var waiter: CheckedContinuation<Item, Never>?
        /// The callers that wait to post a request.
        var posters: [CheckedContinuation<Void, Never>] = []
        var idleTicks = 0
    }

    /// The maximum number of requests of the client in the queue, beyond which posting waits.
    private static let requestLimit = 100
    /// The maximum size of the content of queued commits.
    private static let byteLimit = 16 << 20

    /// The maximum number of queued changes. Each costs a reference to documents that all streams
    /// share.
    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) {
        self.limit = limit
    }

    /// Adds a request of the client. Waits while the queue is full, so that a client that sends
    /// requests without reading the responses is slowed down.
    func post(_ request: Item) async {
        while true {
            let isPosted = state.withLock { $0.isClosed || $0.requestCount < Self.requestLimit }
            if isPosted { break }
            await withCheckedContinuation { continuation in
                let mayGo = state.withLock { state in
                    if state.isClosed || state.requestCount < Self.requestLimit { return true }
                    state.posters.append(continuation)
                    return false
                }
                if mayGo { continuation.resume() }
            }
        }
        deliver { state in
            state.requestCount += 1
            state.items.append(request)
        }
    }

    /// Adds a commit, or drops it if too many are queued.
    func post(_ record: CommitRecord, targets: [[Int32]]) {
        deliver { state in
            guard !state.isLagging else { return }
            let (count, bytes) = (state.changeCount + record.changes.count, state.changeBytes + record.size)
            if count > limit || bytes > Self.byteLimit, state.waiter == nil {
                state.isLagging = true
                state.items.append(.lagging)
            } else {
                (state.changeCount, state.changeBytes) = (count, bytes)
                state.items.append(.commit(record, targets: targets))
            }
        }
    }

    /// Ends the stream. A waiting `next` returns `.closed`, and so does every later one.
    func close() {
        deliver { state in
            state.isClosed = true
            state.items = []
            state.head = 0
            for poster in state.posters { poster.resume() }
            state.posters = []
        }
    }

    /// Waits for the next item. Only one caller may wait at a time.
    func next() async -> Item {
        await withCheckedContinuation { continuation in
            let item: Item? = state.withLock { state in
                if let item = Self.take(&state) { return item }
                state.waiter = continuation
                state.idleTicks = 0
                return nil
            }
            if let item { continuation.resume(returning: item) }
        }
    }

    /// Returns the next item if there is one and it satisfies `condition`.
    func take(if condition: (Item) -> Bool) -> Item? {
        state.withLock { state in
            guard state.head < state.items.count, condition(state.items[state.head]) else { return nil }
            return Self.take(&state)
        }
    }

    var isEmpty: Bool { state.withLock { $0.head == $0.items.count } }

    /// Drops the queued commits and accepts new ones again. The caller reads the dropped commits
    /// from the log.
    func endLag() {
        state.withLock { state in
            state.isLagging = false
            state.items = state.items[state.head...].filter { item in
                switch item {
                case .commit, .lagging: false
                default: true
                }
            }
            state.head = 0
            state.changeCount = 0
            state.changeBytes = 0
        }
    }

    /// Advances the time. Wakes a consumer that has waited for `limit` ticks.
    func tick(limit: Int) {
        let waiter = state.withLock { state -> CheckedContinuation<Item, Never>? in
            state.idleTicks += 1
            guard state.idleTicks >= limit else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: .idle)
    }

    private func deliver(_ change: (inout State) -> Void) {
        let (waiter, item) = state.withLock { state -> (CheckedContinuation<Item, Never>?, Item) in
            if !state.isClosed { change(&state) }
            guard state.waiter != nil, let item = Self.take(&state) else { return (nil, .idle) }
            defer { state.waiter = nil }
            return (state.waiter, item)
        }
        waiter?.resume(returning: item)
    }

    private static func take(_ state: inout State) -> Item? {
        guard state.head < state.items.count else { return state.isClosed ? .closed : nil }
        let item = state.items[state.head]
        state.head += 1
        if state.head == state.items.count {
            state.items.removeAll(keepingCapacity: state.items.capacity <= 4)
            state.head = 0
        }
        switch item {
        case .commit(let record, _):
            state.changeCount -= record.changes.count
            state.changeBytes -= record.size
        case .add, .remove:
            state.requestCount -= 1
            // The caller checks again whether there is space.
            state.posters.popLast()?.resume()
        case .lagging, .idle, .closed: break
        }
        return item
    }
}

extension CommitRecord {
    /// The approximate number of bytes of content that the commit keeps in memory.
    var size: Int {
        changes.reduce(0) { size, change in
            if let encoded = change.encoded { return size + 2 * encoded.fields.bytes.count }
            return size + (change.before.map { DocumentLimits.size(of: $0.name, fields: $0.fields) } ?? 0)
        }
    }
}
