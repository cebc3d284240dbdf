import SystemIO

/// Decides which transfers run. Pure: it takes events and the time and returns actions; the
/// randomness of delays comes from a generator.
///
/// The policy says how many transfers run at a time; those of higher priority go first. After a
/// failure that may pass a transfer waits for a delay that grows each time; a waiting transfer does
/// not keep others from running. Times are those of `Environment.now`.
struct TransferQueue: Sendable {
    /// The status of a transfer in the queue.
    enum Status: Hashable, Sendable {
        case queued
        case running
        /// The transfer was running when it was paused or held, and its work has not ended yet.
        case stopping
        case paused
        case waiting(until: Duration)
    }

    /// A transfer in the queue.
    struct Entry: Sendable {
        let priority: Int
        /// The size of the file; nil if it is not known.
        let size: Int64?
        let order: Int
        var status: Status
        var failures = 0
        var backoff: Backoff
        /// Whether the transfer is to be paused as soon as it has stopped.
        var isToPause = false
    }

    /// An event that may change which transfers run.
    enum Event: Sendable {
        /// A transfer was added or read from the journal.
        case added(TransferID, priority: Int, size: Int64?, isPaused: Bool)
        case command(TransferID, TransferCommand)
        /// The work of a transfer ended because it was interrupted.
        case stopped(TransferID)
        case failed(TransferID, ObjectStorageError.Code, retryAfter: Duration?)
        /// A transfer is done, failed permanently, or was cancelled.
        case ended(TransferID)
        /// Nothing may run until `resumed`.
        case suspended
        case resumed
        /// Waiting transfers may retry at once, because the network is available again or the user
        /// has signed in.
        case encouraged
        case tick
    }

    /// An instruction to the caller.
    enum Action: Hashable, Sendable {
        case launch(TransferID)
        /// Interrupt a transfer that will be launched again later.
        case hold(TransferID)
        case pause(TransferID)
        case cancel(TransferID)
        case giveUp(TransferID)
        case showQueued(TransferID)
        case showWaiting(TransferID)
        /// Send a `tick` at this time.
        case wake(Duration)
    }

    private(set) var entries: [TransferID: Entry] = [:]
    private let policy: TransferPolicy
    private var turns: TransferSchedule<TransferID>
    private var isSuspended = false
    private var nextOrder = 0
    private var generator: any RandomNumberGenerator & Sendable

    /// Creates an empty queue.
    init(policy: TransferPolicy, generator: any RandomNumberGenerator & Sendable) {
        self.policy = policy
        turns = TransferSchedule(policy: policy)
        self.generator = generator
    }

    /// Updates the queue and returns the actions to perform in order.
    mutating func handle(_ event: Event, now: Duration) -> [Action] {
        var actions: [Action] = []
        switch event {
        case .added(let id, let priority, let size, let isPaused):
            nextOrder += 1
            entries[id] = Entry(
                priority: priority, size: size, order: nextOrder, status: .paused, backoff: policy.backoff)
            if !isPaused { set(.queued, of: id) }
            actions.append(isPaused ? .pause(id) : .showQueued(id))
        case .command(let id, let command):
            apply(command, id, &actions)
        case .stopped(let id):
            guard let entry = entries[id], entry.status == .stopping || entry.status == .running else { break }
            set(entry.isToPause ? .paused : .queued, of: id)
            if !entry.isToPause { actions.append(.showQueued(id)) }
        case .failed(let id, let code, let retryAfter):
            fail(id, code, retryAfter, now, &actions)
        case .ended(let id):
            remove(id)
        case .suspended:
            isSuspended = true
            for (id, entry) in entries where entry.status == .running {
                set(.stopping, of: id)
                actions.append(.hold(id))
            }
        case .resumed:
            isSuspended = false
        case .encouraged:
            for (id, entry) in entries {
                guard case .waiting = entry.status else { continue }
                set(.queued, of: id)
                actions.append(.showQueued(id))
            }
        case .tick:
            break
        }
        schedule(now, &actions)
        return actions
    }

    private mutating func apply(_ command: TransferCommand, _ id: TransferID, _ actions: inout [Action]) {
        guard let entry = entries[id] else { return }
        switch command {
        case .start, .resume:
            entries[id]?.isToPause = false
            entries[id]?.failures = 0
            entries[id]?.backoff.reset()
            guard entry.status != .running, entry.status != .stopping, entry.status != .queued else { return }
            set(.queued, of: id)
            if entry.status == .paused { actions.append(.hold(id)) }
            actions.append(.showQueued(id))
        case .pause:
            entries[id]?.isToPause = true
            set(entry.status == .running || entry.status == .stopping ? .stopping : .paused, of: id)
            actions.append(.pause(id))
        case .cancel:
            // The transfer keeps its slot until the engine reports that it has ended.
            set(.stopping, of: id)
            actions.append(.cancel(id))
        case .limit: break
        }
    }

    private mutating func fail(
        _ id: TransferID, _ code: ObjectStorageError.Code, _ retryAfter: Duration?, _ now: Duration,
        _ actions: inout [Action]
    ) {
        guard var entry = entries[id] else { return }
        entry.failures += 1
        guard policy.triesAgain(after: code, failures: entry.failures) else {
            remove(id)
            actions.append(.giveUp(id))
            return
        }
        if entry.isToPause {
            entries[id] = entry
            set(.paused, of: id)
            actions.append(.pause(id))
        } else {
            let wait = entry.backoff.next(random: .random(in: 0..<1, using: &generator))
            entries[id] = entry
            set(.waiting(until: now + max(wait, retryAfter ?? .zero)), of: id)
            actions.append(.showWaiting(id))
        }
    }

    private mutating func set(_ status: Status, of id: TransferID) {
        guard let entry = entries[id] else { return }
        entries[id]?.status = status
        switch status {
        case .queued: turns.enqueue(id, priority: entry.priority, size: entry.size, number: entry.order)
        case .running, .stopping: turns.start(id, size: entry.size)
        case .paused, .waiting: turns.remove(id)
        }
    }

    private mutating func remove(_ id: TransferID) {
        entries[id] = nil
        turns.remove(id)
    }

    private mutating func schedule(_ now: Duration, _ actions: inout [Action]) {
        var earliest: Duration?
        for (id, entry) in entries {
            guard case .waiting(let until) = entry.status else { continue }
            if until <= now {
                set(.queued, of: id)
                actions.append(.showQueued(id))
            } else {
                earliest = min(earliest ?? until, until)
            }
        }
        if let earliest { actions.append(.wake(earliest)) }
        guard !isSuspended else { return }
        while let id = turns.next() {
            entries[id]?.status = .running
            actions.append(.launch(id))
        }
    }
}
