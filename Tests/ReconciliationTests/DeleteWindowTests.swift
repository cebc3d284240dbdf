import DocumentModel
import Reconciliation
import TaskModel
import Testing

@Suite struct DeleteWindowTests {
    /// Deletes that follow one another: how many, of how many tasks, in which second.
    private typealias Deletes = (count: Int, tasks: Int, second: Int)

    private func task(_ number: Int) -> NodeID { .task(TaskID("task \(number)")) }

    private func plan(_ deletes: Deletes, _ recent: RecentChanges) -> Plan {
        var trees = Trees()
        trees.synced = SyncedTree(otherTaskCount: deletes.tasks - deletes.count)
        for number in 0..<deletes.count {
            let state = NodeState(parent: nil, name: FileName("N\(number)"), contents: Contents(digest: digest))
            trees.synced[task(number)] = SyncedNode(state: state, location: Location(nil, FileName("N\(number).md")))
            trees.remote[task(number)] = .living(RemoteNode(state: state, version: version, created: version))
        }
        var conditions = Conditions()
        conditions.deletes = recent
        return Planner.plan(trees, conditions)
    }

    private let digest = ContentDigest(1, 2, 3, 4)
    private let version = Timestamp(microseconds: 1)

    /// Whether each of some deletes is held.
    private func held(_ deletes: [Deletes]) -> [Bool] {
        var window = DeleteWindow()
        return deletes.map { deletes in
            let now = Duration.seconds(deletes.second)
            let plan = plan(deletes, window.recent(at: now, following: 0))
            window.add(plan, at: now)
            return plan.operations.contains { $0.action == .hold(.delete) }
        }
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
        let recent = DeleteWindow().recent(at: .zero, following: 19)
        #expect(plan((1, 30, 0), recent).operations.map(\.action) == [.hold(.delete)])
    }

    @Test func `a steady drip is noticed`() {
        let drip = (0..<30).map { (count: 1, tasks: 40 - $0, second: $0 * 60) }
        #expect(held(drip).firstIndex(of: true) == 10)
    }

    @Test func `the window forgets`() {
        #expect(held([(10, 40, 0), (5, 30, 3601), (6, 25, 3602), (1, 25, 3603)]) == [false, false, true, true])
    }

    @Test func `a decision about everything that was held ends that`() {
        var window = DeleteWindow()
        window.add(plan((30, 40, 0), window.recent(at: .zero, following: 0)), at: .zero)
        #expect(window.recent(at: .seconds(1), following: 0).isHolding)
        window.clear()
        #expect(window.recent(at: .seconds(1), following: 0) == RecentChanges())
    }

    @Test func `deletes that the user has approved do not count`() {
        var window = DeleteWindow()
        let operations = (0..<20).flatMap { number in
            [
                Operation(task(number), .release, .nothing, row: nil),
                Operation(task(number), .trashDocument, .version(version), row: nil),
            ]
        }
        window.add(Plan(operations: operations, reasons: [:]), at: .zero)
        #expect(window.recent(at: .zero, following: 0).count == 0)
    }
}
