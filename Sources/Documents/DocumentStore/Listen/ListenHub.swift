import DocumentModel
import Synchronization
import SystemIO

/// The times at which listeners are up to date.
package protocol ListenClock: Sendable {
    /// Returns a time that no later commit precedes, and up to which all commits were published.
    func separatingTime() -> Int64
    /// Reports that commits up to `newest` are durable, and an engine's lease of times, if it has
    /// one. Only the listen hub calls it, in order.
    func publish(newest: Int64?, lease: Int64?)
}

/// Delivers each durable commit to the streams whose targets it may concern, and to no other.
package final class ListenHub: Sendable {
    private struct State {
        var index = TargetIndex()
        var mailboxes: [UInt64: ListenMailbox] = [:]
        var targets: [UInt64: Set<Int32>] = [:]
        var lastStream: UInt64 = 0
    }

    private let clock: any ListenClock
    private let state: Mutex<State>
    /// The turns of streams that begin a target.
    let loads: TurnPool

    /// Creates a hub.
    ///
    /// - Parameter loads: the number of streams that may begin a target at the same time.
    package init(clock: any ListenClock, loads: Int) {
        self.clock = clock
        self.loads = TurnPool(workers: loads)
        state = Mutex(State())
    }

    var targetCount: Int { state.withLock { $0.index.count } }

    // MARK: Streams and targets

    func open(mailboxLimit: Int) -> (stream: UInt64, mailbox: ListenMailbox) {
        state.withLock { state in
            state.lastStream += 1
            let mailbox = ListenMailbox(limit: mailboxLimit)
            state.mailboxes[state.lastStream] = mailbox
            return (state.lastStream, mailbox)
        }
    }

    func close(_ stream: UInt64) {
        let mailbox = state.withLock { state in
            for target in state.targets.removeValue(forKey: stream) ?? [] {
                state.index.remove(TargetIndex.Key(stream: stream, target: target))
            }
            return state.mailboxes.removeValue(forKey: stream)
        }
        mailbox?.close()
    }

    /// Registers a target, whose commits are delivered to its stream's mailbox from now on.
    ///
    /// - Returns: A separating time: commits up to it are on disk, and those that concern the
    ///   stream are already in its mailbox. All later ones will be delivered there.
    func register(_ target: Int32, of stream: UInt64, _ selection: ListenMachine.Selection) -> Int64 {
        state.withLock { state in
            let key = TargetIndex.Key(stream: stream, target: target)
            state.targets[stream, default: []].insert(target)
            switch selection {
            case .query(let plan): state.index.insert(key, plan: plan)
            case .documents(let names): state.index.insert(key, documents: names)
            }
            return clock.separatingTime()
        }
    }

    func unregister(_ target: Int32, of stream: UInt64) {
        state.withLock { state in
            state.targets[stream]?.remove(target)
            state.index.remove(TargetIndex.Key(stream: stream, target: target))
        }
    }

    /// Ends a stream's lag. The dropped commits are not later than the returned time; the stream
    /// must read them from the log.
    func endLag(of mailbox: ListenMailbox) -> Int64 {
        state.withLock { state in
            mailbox.endLag()
            return clock.separatingTime()
        }
    }

    /// Returns a current time up to which everything is in the mailboxes.
    func separatingTime() -> Int64 { state.withLock { _ in clock.separatingTime() } }

    // MARK: Events

    /// Delivers commits. Called in the order of the commits, after they and the lease are on disk.
    ///
    /// The clock is updated under the same lock, so that a separating time never lies between a
    /// commit and its delivery. It is updated before the delivery, because a client that is
    /// notified may read at once and must find the commit.
    ///
    /// - Parameter time: a time that no later commit precedes, if that is later than the last commit.
    package func publish(_ records: [CommitRecord], through time: Int64? = nil, lease: Int64?) {
        state.withLock { state in
            clock.publish(newest: time ?? records.last?.time.microseconds, lease: lease)
            for record in records { Self.deliver(record, in: state) }
        }
    }

    /// Lets streams that have been idle for `limit` ticks send a heartbeat to their clients.
    package func tick(limit: Int) {
        for mailbox in state.withLock({ Array($0.mailboxes.values) }) { mailbox.tick(limit: limit) }
    }

    package func closeAll() {
        for mailbox in state.withLock({ Array($0.mailboxes.values) }) { mailbox.close() }
    }

    private static func deliver(_ record: CommitRecord, in state: borrowing State) {
        var concerned: [UInt64: (changes: [CommitRecord.Change], targets: [[Int32]])] = [:]
        for change in record.changes {
            var targets: [UInt64: [Int32]] = [:]
            for key in state.index.candidates(for: change) { targets[key.stream, default: []].append(key.target) }
            for (stream, targets) in targets {
                concerned[stream, default: ([], [])].changes.append(change)
                concerned[stream, default: ([], [])].targets.append(targets)
            }
        }
        for (stream, part) in concerned {
            state.mailboxes[stream]?.post(
                CommitRecord(time: record.time, changes: part.changes), targets: part.targets)
        }
    }
}
