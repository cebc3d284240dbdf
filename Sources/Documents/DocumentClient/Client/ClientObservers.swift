import DocumentModel
import SystemIO

/// The tasks that wait for changes: listeners of queries, readers of the feed and of the status, and writers whose
/// mutations are to be committed.
struct ClientObservers {
    private var listeners: [Int: QueryListener] = [:]
    private var changeWaiters: [Int: AsyncSignal] = [:]
    private var settleWaiters: [(position: Int64, continuation: CheckedContinuation<Void, any Error>)] = []
    private var trackers: [Int64: [WriteTracker]] = [:]
    private var statusStreams: [Int: AsyncStream<ClientStatus>.Continuation] = [:]
    private var lastID = 0

    private mutating func newID() -> Int {
        lastID += 1
        return lastID
    }

    // MARK: Listeners

    /// Adds a listener to the results of a query. Returns its id, and the signal that wakes it.
    mutating func addListener(_ plan: QueryPlan, target: Int32?) -> (id: Int, wakeup: AsyncSignal) {
        let (id, wakeup) = (newID(), AsyncSignal())
        listeners[id] = QueryListener(plan: plan, target: target, wakeup: wakeup)
        return (id, wakeup)
    }

    /// Removes a listener. Returns the target that keeps its results up to date.
    mutating func removeListener(_ id: Int) -> Int32? { listeners.removeValue(forKey: id)?.target }

    /// Returns the next snapshot for a listener.
    mutating func nextSnapshot(
        _ id: Int, from replica: Replica, currentTargets: Set<Int32>
    ) throws -> NextSnapshot {
        guard var listener = listeners[id] else { return .closed }
        let isFromCache = !(listener.target.map(currentTargets.contains) ?? false)
        let next = try listener.next(from: replica, isFromCache: isFromCache)
        listeners[id] = listener
        if let next { return .snapshot(next) }
        if let refusal = listener.refusal { throw refusal }
        return .nothingYet
    }

    /// Reports to the listeners of a target why the remote does not watch it.
    mutating func refuse(_ target: Int32, _ error: RemoteError) {
        for (id, listener) in listeners where listener.target == target {
            listeners[id]?.refusal = error
            listener.wakeup.set()
        }
    }

    /// Wakes the listeners to whose results these targets belong.
    func wakeListeners(of targets: Set<Int32>) {
        for listener in listeners.values where listener.target.map(targets.contains) == true { listener.wakeup.set() }
    }

    // MARK: Readers and writers

    /// Adds a reader of the feed of changes. Returns its id, and the signal that wakes it.
    mutating func addChangeWaiter() -> (id: Int, wakeup: AsyncSignal) {
        let (id, wakeup) = (newID(), AsyncSignal())
        changeWaiters[id] = wakeup
        return (id, wakeup)
    }

    mutating func removeChangeWaiter(_ id: Int) { changeWaiters[id] = nil }

    /// Adds a writer, which is resumed once all mutations up to `position` are committed or rejected.
    mutating func addSettleWaiter(_ position: Int64, _ continuation: CheckedContinuation<Void, any Error>) {
        settleWaiters.append((position, continuation))
    }

    /// Reports to the writer of these mutations what becomes of them.
    mutating func track(_ positions: [Int64]) -> WriteTracker {
        let tracker = WriteTracker(Set(positions))
        for position in Set(positions) { trackers[position, default: []].append(tracker) }
        return tracker
    }

    /// Reports what became of mutations.
    mutating func settle(_ outcomes: [(position: Int64, outcome: MutationOutcome)]) {
        guard !trackers.isEmpty else { return }
        for (position, outcome) in outcomes {
            guard let waiting = trackers.removeValue(forKey: position) else { continue }
            if case .joined(let other) = outcome { trackers[other, default: []] += waiting }
            for tracker in waiting { tracker.settle(position, outcome) }
        }
    }

    /// Wakes all whom a transaction concerns.
    mutating func published(_ changedPaths: Set<String>, _ journal: Journal) {
        if !changedPaths.isEmpty {
            for id in listeners.keys {
                listeners[id]?.note(changedPaths)
                listeners[id]?.wakeup.set()
            }
            for waiter in changeWaiters.values { waiter.set() }
        }
        settleWaiters.removeAll { waiter in
            guard journal.isSettled(through: waiter.position) else { return false }
            waiter.continuation.resume()
            return true
        }
    }

    // MARK: Status

    mutating func addStatusStream(_ stream: AsyncStream<ClientStatus>.Continuation) -> Int {
        let id = newID()
        statusStreams[id] = stream
        return id
    }

    mutating func removeStatusStream(_ id: Int) { statusStreams[id] = nil }

    func report(_ status: ClientStatus) {
        for stream in statusStreams.values { stream.yield(status) }
    }

    // MARK: The end

    /// Wakes all, because the client was closed.
    mutating func close(_ error: DocumentClientError) {
        for waiter in settleWaiters { waiter.continuation.resume(throwing: error) }
        settleWaiters = []
        for tracker in trackers.values.joined() { tracker.fail(error) }
        trackers = [:]
        for listener in listeners.values { listener.wakeup.set() }
        for waiter in changeWaiters.values { waiter.set() }
        for stream in statusStreams.values { stream.finish() }
        statusStreams = [:]
    }
}

/// The next step of a listener.
enum NextSnapshot: Sendable {
    case snapshot(QuerySnapshot)
    case nothingYet
    case closed
}
