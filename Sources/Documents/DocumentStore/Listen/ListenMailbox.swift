import DocumentModel
import FirestoreProtocol
import Synchronization

/// What waits for one listen stream: its client's wishes and the commits that may concern its targets, in order.
///
/// Commits beyond a limit are dropped; the stream then reads them from the log when its consumer pulls again.
final class ListenMailbox: Sendable {
    enum Item: Sendable {
        case add(ListenTarget)
        case remove(Int32)
        /// `targets` has the candidates of each change.
        case commit(CommitRecord, targets: [[Int32]])
        /// Commits are missing from here on until the stream has caught up.
        case lagging
        /// Nothing came for a heartbeat's time.
        case idle
        case closed
    }

    private struct State {
        var items: [Item] = []
        var head = 0
        var changeCount = 0
        var changeBytes = 0
        var wishCount = 0
        var isLagging = false
        var isClosed = false
        var waiter: CheckedContinuation<Item, Never>?
        /// Those who wait to post a wish.
        var posters: [CheckedContinuation<Void, Never>] = []
        var idleTicks = 0
    }

    /// How many wishes of the client wait before it is held up.
    private static let wishLimit = 100
    /// How much content waits in commits.
    private static let byteLimit = 16 << 20

    /// How many changes wait at most; each costs a reference to documents shared by all streams.
    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) {
        self.limit = limit
    }

    /// Adds a wish of the client. Waits while many do, so that a client which asks and does not read is held up itself.
    func post(_ wish: Item) async {
        while true {
            let isPosted = state.withLock { $0.isClosed || $0.wishCount < Self.wishLimit }
            if isPosted { break }
            await withCheckedContinuation { continuation in
                let mayGo = state.withLock { state in
                    if state.isClosed || state.wishCount < Self.wishLimit { return true }
                    state.posters.append(continuation)
                    return false
                }
                if mayGo { continuation.resume() }
            }
        }
        deliver { state in
            state.wishCount += 1
            state.items.append(wish)
        }
    }

    /// Adds a commit, or drops it when too many wait.
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

    /// Ends the stream: a waiting `next` answers `.closed`, and so does every later one.
    func close() {
        deliver { state in
            state.isClosed = true
            state.items = []
            state.head = 0
            for poster in state.posters { poster.resume() }
            state.posters = []
        }
    }

    /// Waits for the next item. One caller at a time.
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

    /// The next item if there is one and `condition` holds for it.
    func take(if condition: (Item) -> Bool) -> Item? {
        state.withLock { state in
            guard state.head < state.items.count, condition(state.items[state.head]) else { return nil }
            return Self.take(&state)
        }
    }

    var isEmpty: Bool { state.withLock { $0.head == $0.items.count } }

    /// Drops the commits that wait and takes new ones again. The caller reads what was dropped from the log.
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

    /// Counts time; wakes a consumer that has waited for `limit` ticks.
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
            state.items.removeAll(keepingCapacity: state.items.capacity <= 64)
            state.head = 0
        }
        switch item {
        case .commit(let record, _):
            state.changeCount -= record.changes.count
            state.changeBytes -= record.size
        case .add, .remove:
            state.wishCount -= 1
            // It looks for itself whether there is room.
            state.posters.popLast()?.resume()
        case .lagging, .idle, .closed: break
        }
        return item
    }
}

extension CommitRecord {
    /// About how many bytes of content it keeps in memory.
    var size: Int {
        changes.reduce(0) { size, change in
            if let encoded = change.encoded { return size + 2 * encoded.fields.bytes.count }
            return size + (change.before.map { DocumentLimits.size(of: $0.name, fields: $0.fields) } ?? 0)
        }
    }
}
