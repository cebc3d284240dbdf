import SystemIO
import Testing

@testable import ObjectStorage

@Suite struct TransferQueueTests {
    private let start = Duration.seconds(7)
    private let ids = (0..<10).map { _ in TransferID(randomBy: .system) }

    private func queue(limit: Int = 2, seed: UInt64 = 1) -> TransferQueue {
        var policy = TransferPolicy()
        policy.simultaneous = limit
        return TransferQueue(policy: policy, generator: SeededGenerator(seed: seed))
    }

    private func launched(_ actions: [TransferQueue.Action]) -> [TransferID] {
        actions.compactMap { if case .launch(let id) = $0 { id } else { nil } }
    }

    @Test func `no more run than the limit allows, the important and the older ones first`() {
        var queue = queue()
        var order: [TransferID] = []
        _ = queue.handle(.suspended, now: start)
        for (index, priority) in [0, 0, 5, 0, 5].enumerated() {
            order += launched(
                queue.handle(.added(ids[index], priority: priority, size: nil, isPaused: false), now: start))
        }
        #expect(order.isEmpty)
        order += launched(queue.handle(.resumed, now: start))
        #expect(order == [ids[2], ids[4]])
        for id in [ids[4], ids[2], ids[0]] { order += launched(queue.handle(.ended(id), now: start)) }
        #expect(order == [ids[2], ids[4], ids[0], ids[1], ids[3]])
    }

    @Test func `a waiting transfer keeps no other from running, and is retried in time`() {
        var queue = queue(limit: 1)
        _ = queue.handle(.added(ids[0], priority: 9, size: nil, isPaused: false), now: start)
        _ = queue.handle(.added(ids[1], priority: 0, size: nil, isPaused: false), now: start)
        let actions = queue.handle(.failed(ids[0], .transient, retryAfter: nil), now: start)
        #expect(launched(actions) == [ids[1]])
        #expect(actions.contains(.showWaiting(ids[0])))
        guard case .wake(let wake)? = actions.first(where: { if case .wake = $0 { true } else { false } }) else {
            Issue.record("nothing wakes it")
            return
        }
        #expect(wake > start && wake <= start + .seconds(1))
        #expect(launched(queue.handle(.tick, now: wake)).isEmpty)
        #expect(launched(queue.handle(.ended(ids[1]), now: wake)) == [ids[0]])
    }

    @Test func `waits grow up to a minute, and are cut short by encouragement`() {
        var queue = queue(limit: 1)
        var now = start
        _ = queue.handle(.added(ids[0], priority: 0, size: nil, isPaused: false), now: now)
        var waits: [Duration] = []
        for _ in 0..<12 {
            let actions = queue.handle(.failed(ids[0], .transient, retryAfter: nil), now: now)
            for case .wake(let wake) in actions {
                waits.append(wake - now)
                now = wake
            }
            #expect(launched(queue.handle(.tick, now: now)) == [ids[0]])
        }
        #expect(waits.count == 12)
        #expect(waits.last.map { $0 >= .seconds(30) && $0 <= .seconds(60) } == true)
        #expect(waits[0] <= .seconds(1) && waits[3] >= .seconds(4))
        _ = queue.handle(.failed(ids[0], .transient, retryAfter: .seconds(500)), now: now)
        #expect(launched(queue.handle(.tick, now: now + .seconds(499))).isEmpty)
        #expect(launched(queue.handle(.encouraged, now: now + .seconds(499))) == [ids[0]])
    }

    @Test(arguments: [
        (ObjectStorageError.Code.transient, true), (.permission, true), (.full, true), (.sourceChanged, true),
        (.corrupt, false), (.notFound, false), (.invalid, false),
    ])
    func `failures that may pass are tried again, the others are given up`(code: ObjectStorageError.Code, again: Bool) {
        var queue = queue()
        _ = queue.handle(.added(ids[0], priority: 0, size: nil, isPaused: false), now: start)
        let actions = queue.handle(.failed(ids[0], code, retryAfter: nil), now: start)
        #expect(actions.contains(.giveUp(ids[0])) == !again)
    }

    @Test func `a failure of unknown kind is given up after five tries`() {
        var queue = queue()
        _ = queue.handle(.added(ids[0], priority: 0, size: nil, isPaused: false), now: start)
        var tries = 1
        while !queue.handle(.failed(ids[0], .unavailable, retryAfter: nil), now: start).contains(.giveUp(ids[0])) {
            _ = queue.handle(.encouraged, now: start)
            tries += 1
        }
        #expect(tries == 5)
    }

    @Test func `many small ones run beside a few large ones, the smallest first`() {
        var policy = TransferPolicy()
        (policy.simultaneous, policy.smallSimultaneous, policy.smallBytes) = (2, 4, 100)
        policy.order = .smallestFirst
        var queue = TransferQueue(policy: policy, generator: SeededGenerator(seed: 1))
        _ = queue.handle(.suspended, now: start)
        let sizes: [Int64?] = [nil, 1000, 50, 30, 30, 10, .max, -5]
        for (index, size) in sizes.enumerated() {
            _ = queue.handle(.added(ids[index], priority: 0, size: size, isPaused: false), now: start)
        }
        // −5, 10, 30 and 30 bytes; the next has room, but four run already.
        #expect(launched(queue.handle(.resumed, now: start)) == [ids[7], ids[5], ids[3], ids[4]])
        #expect(launched(queue.handle(.ended(ids[7]), now: start)).isEmpty, "120 bytes are too many together")
        #expect(launched(queue.handle(.ended(ids[5]), now: start)).isEmpty)
        #expect(launched(queue.handle(.ended(ids[3]), now: start)) == [ids[2]])
        #expect(launched(queue.handle(.ended(ids[4]), now: start)) == [ids[1]])
        // Large ones and those of unknown size run only within the first limit.
        #expect(launched(queue.handle(.ended(ids[2]), now: start)) == [ids[0]])
        #expect(launched(queue.handle(.ended(ids[1]), now: start)) == [ids[6]])
    }

    /// Controls the queue together with real state machines, as `Transfers` does, by random
    /// commands and ends.
    @Test(arguments: 0..<100)
    func `queue and machines agree after any events`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var queue = queue(limit: 3, seed: seed)
        var machines: [TransferID: TransferMachine] = [:]
        var pending: [TransferQueue.Event] = []
        var steps: [String] = []
        var now = start
        var isSuspended = false

        func drive(_ id: TransferID, _ event: TransferMachine.Event) {
            let action = machines[id]?.handle(event) ?? .none
            switch (event, action) {
            case (_, .clean): drive(id, .cleaned)
            case (_, .finish): pending.append(.ended(id))
            case (_, .reportFailure): pending.append(.failed(id, .transient, retryAfter: nil))
            case (.ended, .none): pending.append(.stopped(id))
            default: break
            }
        }
        func feed(_ event: TransferQueue.Event) {
            steps.append("\(event)")
            pending.append(event)
            while !pending.isEmpty {
                for action in queue.handle(pending.removeFirst(), now: now) {
                    switch action {
                    case .launch(let id): drive(id, .launch)
                    case .hold(let id): drive(id, .hold)
                    case .pause(let id): drive(id, .pause)
                    case .cancel(let id): drive(id, .cancel)
                    case .giveUp(let id): drive(id, .giveUp)
                    case .showQueued, .showWaiting, .wake: break
                    }
                }
            }
        }
        for id in ids {
            machines[id] = TransferMachine()
            feed(
                .added(
                    id, priority: Int.random(in: 0...2, using: &generator), size: nil,
                    isPaused: Bool.random(using: &generator))
            )
        }
        for _ in 0..<200 {
            let id = ids[Int.random(in: 0..<ids.count, using: &generator)]
            now += .milliseconds(Int.random(in: 0...2000, using: &generator))
            switch Int.random(in: 0..<14, using: &generator) {
            case 0: feed(.command(id, .pause))
            case 1: feed(.command(id, .resume))
            case 2 where Int.random(in: 0..<6, using: &generator) == 0: feed(.command(id, .cancel))
            case 3: feed(.command(id, .start))
            case 4:
                isSuspended.toggle()
                feed(isSuspended ? .suspended : .resumed)
            case 5...10:
                guard let phase = machines[id]?.phase else { continue }
                let isInterrupted: Bool = if case .stopping = phase { true } else { false }
                guard phase == .running || isInterrupted else { continue }
                steps.append("end \(id)")
                let endings: [TransferMachine.Ending] =
                    isInterrupted ? [.interrupted, .succeeded] : [.failed, .succeeded, .failed]
                drive(id, .ended(endings[Int.random(in: 0..<endings.count, using: &generator)]))
                feed(.tick)
            default: feed(.tick)
            }
            let active = machines.values.count {
                switch $0.phase {
                case .running, .stopping: true
                default: false
                }
            }
            #expect(active <= 3, "\(active) run; seed \(seed): \(steps.suffix(12))")
        }
        // Without further commands everything that is not paused or cancelled ends.
        if isSuspended { feed(.resumed) }
        for round in 0..<100 {
            now += .seconds(120)
            feed(.tick)
            for id in ids {
                switch machines[id]?.phase {
                case .running: drive(id, .ended(.succeeded))
                case .stopping: drive(id, .ended(.interrupted))
                default: break
                }
            }
            feed(.tick)
            if round == 50 { for id in ids { feed(.command(id, .resume)) } }
        }
        for id in ids {
            let phase = machines[id]?.phase
            #expect(
                phase == .finished(.done) || phase == .finished(.cancelled),
                "\(id) is left \(String(describing: phase)); seed \(seed): \(steps.suffix(20))")
        }
        #expect(queue.entries.isEmpty, "seed \(seed)")
    }
}
