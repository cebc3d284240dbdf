import TaskSync
import Testing

@Suite struct DeleteGuardTests {
    /// What the guard says to deletes that follow one another: how many, of how many tasks, at which second.
    private func held(_ deletes: [(count: Int, tasks: Int, second: Int)]) -> [Bool] {
        var deleteGuard = DeleteGuard()
        return deletes.map { deleteGuard.holds($0.count, of: $0.tasks, at: .seconds($0.second)) }
    }

    @Test func `a few deletes pass, many at once do not`() {
        #expect(held([(10, 20, 0)]) == [false])
        #expect(held([(11, 50, 0)]) == [true])
        #expect(held([(11, 1000, 0)]) == [false])
    }

    @Test func `a large number of a much larger one passes, one more does not`() {
        #expect(held([(200, 1000, 0), (1, 800, 1)]) == [false, true])
    }

    @Test func `the first of many are held with them`() {
        var deleteGuard = DeleteGuard()
        let isHeld = deleteGuard.holds(1, following: 19, of: 30, at: .zero)
        #expect(isHeld)
    }

    @Test func `a steady drip is noticed`() {
        let drip = (0..<30).map { (count: 1, tasks: 40 - $0, second: $0 * 60) }
        #expect(held(drip).firstIndex(of: true) == 10)
    }

    @Test func `the window forgets`() {
        #expect(held([(10, 40, 0), (5, 30, 3601), (6, 25, 3602), (1, 25, 3603)]) == [false, false, true, true])
    }

    @Test func `a decision ends what was held`() {
        var deleteGuard = DeleteGuard()
        let first = deleteGuard.holds(30, of: 40, at: .zero)
        deleteGuard.settle()
        let second = deleteGuard.holds(1, of: 40, at: .seconds(1))
        #expect(first && !second)
    }
}
