import DocumentModel
import Synchronization

/// Hands each durable commit to the streams whose targets it may concern, and to no other.
final class ListenHub: Sendable {
    private struct State {
        var index = TargetIndex()
        var mailboxes: [UInt64: ListenMailbox] = [:]
        var targets: [UInt64: Set<Int32>] = [:]
        var lastStream: UInt64 = 0
    }

    private let clock: CommitClock
    private let state: Mutex<State>

    init(clock: CommitClock) {
        self.clock = clock
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

    /// From now on the target's commits go to its stream's mailbox.
    /// - Returns: a time that separates: commits up to it are on the disk, and those the stream must know of are in its
    ///   mailbox already; all later ones will come there.
    func register(_ target: Int32, of stream: UInt64, _ selection: ListenMachine.Selection) -> Int64 {
        state.withLock { state in
            let key = TargetIndex.Key(stream: stream, target: target)
            state.targets[stream, default: []].insert(target)
            switch selection {
            case .query(let plan): state.index.insert(key, plan: plan)
            case .documents(let names): state.index.insert(key, documents: names)
            }
            return clock.readTime(visible: .max).time
        }
    }

    func unregister(_ target: Int32, of stream: UInt64) {
        state.withLock { state in
            state.targets[stream]?.remove(target)
            state.index.remove(TargetIndex.Key(stream: stream, target: target))
        }
    }

    /// Ends a stream's lag: what was dropped is no later than the returned time and is the stream's to read.
    func endLag(of mailbox: ListenMailbox) -> Int64 {
        state.withLock { state in
            mailbox.endLag()
            return clock.readTime(visible: .max).time
        }
    }

    /// A fresh time up to which everything is in the mailboxes.
    func separatingTime() -> Int64 { state.withLock { _ in clock.readTime(visible: .max).time } }

    // MARK: Events

    /// Called in the order of the commits, after they and the lease are on the disk.
    ///
    /// The clock learns of them under the lock too: a separating time never lies between a commit and its delivery. It does before
    /// anybody is told, who may read at once, and must find what was told of.
    func publish(_ records: [CommitRecord], lease: Int64?) {
        state.withLock { state in
            clock.publish(newest: records.last?.time.microseconds, lease: lease)
            for record in records { Self.deliver(record, in: state) }
        }
    }

    /// Lets streams that have been idle for `limit` ticks tell their clients so.
    func tick(limit: Int) {
        for mailbox in state.withLock({ Array($0.mailboxes.values) }) { mailbox.tick(limit: limit) }
    }

    func closeAll() {
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
