import SystemIO
import Testing

struct TurnScheduleTests {
    private var schedule = TurnSchedule<Int>(workers: 3)

    /// Starts work of an account until some has to wait, which then waits under the numbers.
    private mutating func fill(_ account: String?, waiting numbers: Range<Int>) -> [Int] {
        var workers: [Int] = []
        while let worker = schedule.start(for: account) { workers.append(worker) }
        for number in numbers { schedule.wait(number, for: account) }
        return workers
    }

    @Test mutating func `one account never has all workers`() throws {
        let busy = fill("anna", waiting: 0..<5)
        #expect(busy.count == 2)
        let started = schedule.start(for: "bob")
        let worker = try #require(started)
        #expect(schedule.start(for: "bob") == nil && schedule.start(for: nil) == nil)
        // Bob's worker stays free for others than Anna.
        #expect(schedule.end(worker, for: "bob") == nil)
        #expect(schedule.start(for: "anna") == nil)
        #expect(schedule.end(busy[0], for: "anna")?.waiter == 0)
        #expect(schedule.start(for: "carol") == worker)
    }

    @Test mutating func `accounts take turns, and each one's work keeps their order`() throws {
        var running: [(worker: Int, account: String)] = fill("anna", waiting: 0..<4).map { ($0, "anna") }
        running += fill("bob", waiting: 10..<14).map { ($0, "bob") }
        for number in [20, 21] { schedule.wait(number, for: "carol") }
        let accounts = [0: "anna", 1: "bob", 2: "carol"]
        var order: [Int] = []
        while !running.isEmpty {
            let ended = running.removeFirst()
            guard let next = schedule.end(ended.worker, for: ended.account) else { continue }
            order.append(next.waiter)
            running.append((next.worker, try #require(accounts[next.waiter / 10])))
        }
        #expect(order.count == 10)
        #expect(Set(order.prefix(3)) == [0, 10, 20])
        for first in [0, 10, 20] {
            let own = order.filter { $0 / 10 == first / 10 }
            #expect(own == own.sorted())
        }
        #expect(schedule.start(for: "anna") != nil)
    }

    @Test mutating func `work that is removed gets no turn, and its account none without other work`() {
        let running = fill("anna", waiting: 0..<1)
        for number in 10..<13 { schedule.wait(number, for: "bob") }
        #expect(schedule.remove(for: "bob") { $0 == 11 } == 11)
        #expect(schedule.remove(for: "bob") { $0 == 11 } == nil)
        #expect(schedule.remove(for: "anna") { $0 == 0 } == 0)
        #expect(schedule.remove(for: "carol") { _ in true } == nil)
        #expect(running.compactMap { schedule.end($0, for: "anna")?.waiter } == [10, 12])
        #expect(schedule.start(for: "anna") != nil)
    }

    @Test mutating func `the operator may have all workers`() {
        #expect(fill(nil, waiting: 0..<1).count == 3)
        #expect(schedule.start(for: "anna") == nil)
    }
}
