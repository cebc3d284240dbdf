import SystemIO
import Testing

@testable import ObjectStorage

@Suite struct TransferScheduleTests {
    private func schedule(_ simultaneous: Int, small: Int = 0, bytes: Int64 = 100) -> TransferSchedule<Int> {
        var policy = TransferPolicy()
        (policy.simultaneous, policy.smallSimultaneous, policy.smallBytes) = (simultaneous, small, bytes)
        policy.order = .smallestFirst
        return TransferSchedule(policy: policy)
    }

    @Test func `a transfer that is taken out, or has another size by now, loses its place`() {
        var schedule = schedule(1)
        for id in 0..<4 { schedule.enqueue(id, size: Int64(id), number: id) }
        schedule.remove(0)
        schedule.enqueue(1, size: 9, number: 1)
        #expect(schedule.next() == 2)
        #expect(schedule.next() == nil, "one runs already")
        schedule.enqueue(2, size: 2, number: 2)
        #expect(schedule.next() == 2, "its place in the order stays")
        for id in [3, 1] {
            schedule.remove(id == 3 ? 2 : 3)
            #expect(schedule.next() == id)
        }
        #expect(!schedule.isEmpty)
        schedule.remove(1)
        #expect(schedule.next() == nil)
        #expect(schedule.isEmpty)
    }

    @Test func `a transfer that is started out of turn counts, with the size that it has now`() {
        var schedule = schedule(1, small: 3)
        schedule.start(0, size: 60)
        schedule.enqueue(1, size: 50, number: 1)
        #expect(schedule.next() == nil)
        schedule.start(0, size: 50)
        #expect(schedule.next() == 1)
        schedule.start(2, size: nil)
        schedule.enqueue(3, size: 0, number: 3)
        #expect(schedule.next() == nil, "one of unknown size leaves no room for small ones")
    }

    /// Compares the schedule with a list that is searched from the beginning each time.
    @Test(arguments: 0..<100)
    func `the schedule starts what a search of all would find`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var policy = TransferPolicy()
        policy.order = Bool.random(using: &generator) ? .smallestFirst : .oldestFirst
        (policy.simultaneous, policy.smallSimultaneous, policy.smallBytes) = (2, 5, 100)
        var schedule = TransferSchedule<Int>(policy: policy)
        typealias Waiting = (priority: Int, size: Int64?, number: Int)
        var waiting: [Int: Waiting] = [:]
        var running: [Int: Int64?] = [:]
        func isBefore(_ left: Waiting, _ right: Waiting) -> Bool {
            if left.priority != right.priority { return left.priority > right.priority }
            let (size, other) = (left.size ?? .max, right.size ?? .max)
            if policy.order == .smallestFirst, size != other { return size < other }
            return left.number < right.number
        }
        for step in 0..<400 {
            let id = Int.random(in: 0..<30, using: &generator)
            let sizes: [Int64?] = [nil, .max, .min, -1, 0, 10, 30, 60, 101]
            let size = sizes.randomElement(using: &generator) ?? nil
            switch Int.random(in: 0..<4, using: &generator) {
            case 0, 1:
                let priority = Int.random(in: -1...1, using: &generator)
                schedule.enqueue(id, priority: priority, size: size, number: id)
                (waiting[id], running[id]) = ((priority, size, id), nil)
            case 2:
                schedule.remove(id)
                (waiting[id], running[id]) = (nil, nil)
            default:
                guard running[id] != nil else { continue }
                schedule.start(id, size: size)
                running[id] = .some(size)
            }
            while let next = schedule.next() {
                let first = waiting.min { isBefore($0.value, $1.value) }
                #expect(first?.key == next, "seed \(seed), step \(step)")
                running[next] = .some(first?.value.size)
                waiting[next] = nil
            }
            // Another one waits only if the limits do not admit it.
            if let first = waiting.values.min(by: isBefore) {
                let bytes = running.values.reduce(Int64(0)) { $0.saturatingAdded(to: max(0, $1 ?? .max)) }
                #expect(running.count >= 2, "seed \(seed), step \(step)")
                #expect(
                    running.count >= 5 || bytes.saturatingAdded(to: max(0, first.size ?? .max)) > 100,
                    "seed \(seed), step \(step)")
            }
            #expect(schedule.isEmpty == (waiting.isEmpty && running.isEmpty))
        }
    }
}
