import DocumentModel
import Reconciliation
import TaskModel
import Testing

@Suite struct ChangeWindowTests {
    /// Deletes that follow one another: how many, of how many tasks, in which second.
    private typealias Deletes = (count: Int, tasks: Int, second: Int)

    private func task(_ number: Int) -> NodeID { .task(TaskID("task \(number)")) }

    /// - Parameter first: the number of the first task that is deleted.
    private func plan(_ deletes: Deletes, from first: Int = 0, _ recent: RecentChanges) -> Plan {
        var trees = Trees()
        trees.synced = SyncedTree(otherTaskCount: deletes.tasks - deletes.count)
        for number in first..<(first + deletes.count) {
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
        var window = ChangeWindow(.delete)
        var first = 0
        return deletes.map { deletes in
            let now = Duration.seconds(deletes.second)
            let plan = plan(deletes, from: first, window.recent(at: now, following: 0))
            window.add(plan, at: now)
            first += deletes.count
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
        let recent = ChangeWindow(.delete).recent(at: .zero, following: 19)
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
        var window = ChangeWindow(.delete)
        window.add(plan((30, 40, 0), window.recent(at: .zero, following: 0)), at: .zero)
        #expect(window.recent(at: .seconds(1), following: 0).isHolding)
        window.clear()
        #expect(window.recent(at: .seconds(1), following: 0) == RecentChanges())
    }

    @Test func `deletes that the user has approved do not count`() {
        var window = ChangeWindow(.delete)
        let operations = (0..<20).flatMap { number in
            [
                Operation(task(number), .release, .nothing, row: nil),
                Operation(task(number), .trashDocument, .version(version), row: nil),
            ]
        }
        window.add(Plan(operations: operations, reasons: [:]), at: .zero)
        #expect(window.recent(at: .zero, following: 0).count == 0)
    }

    // MARK: Reverts

    private let many = Array(0..<12)

    /// Plans the reverts of the files of some tasks.
    ///
    /// - Parameter isMerged: whether their documents have changed, too.
    private func plan(reverts numbers: [Int], of count: Int, _ recent: RecentChanges, isMerged: Bool = false) -> Plan {
        var trees = Trees()
        trees.synced = SyncedTree(otherTaskCount: count - numbers.count)
        for number in numbers {
            let location = Location(nil, FileName("N\(number).md"))
            var state = NodeState(parent: nil, name: FileName("N\(number)"), contents: Contents(digest: digest))
            trees.synced[task(number)] = SyncedNode(state: state, location: location)
            if isMerged { state.contents = Contents(digest: ContentDigest(6, 6, 6, 6)) }
            trees.remote[task(number)] = .living(RemoteNode(state: state, version: version, created: version))
            let stamp = Stamp(
                file: Stamp.File(device: 1, inode: UInt64(number)), size: 1,
                modified: Stamp.Time(seconds: 1, nanoseconds: 0), changed: Stamp.Time(seconds: 1, nanoseconds: 0))
            let file = LocalFile(
                location: location, stamp: stamp, contents: Contents(digest: ContentDigest(5, 5, 5, 5)),
                isFormerVersion: true)
            trees.local[task(number)] = .present(file)
        }
        var conditions = Conditions()
        conditions.reverts = recent
        return Planner.plan(trees, conditions)
    }

    /// Whether each of some reverts is held, one after the other, once no more of them have come.
    private func held(_ steps: [(tasks: [Int], second: Int)], following: Int = 0, of count: Int = 20) -> [Bool] {
        var window = ChangeWindow(.revert)
        return steps.map { step in
            let now = Duration.seconds(step.second)
            var recent = window.recent(besides: Set(step.tasks.map(task)), at: now, following: following)
            recent.isHolding = false
            let plan = plan(reverts: step.tasks, of: count, recent)
            window.add(plan, at: now)
            return plan.operations.contains { $0.action == .hold(.revert) }
        }
    }

    @Test func `more than ten reverts are held, and more than a fifth`() {
        #expect(held([(Array(many.prefix(10)), 0)]) == [false])
        #expect(held([(many, 0)]) == [true])
        #expect(held([(many, 0)], of: 100) == [false])
        #expect(held([([], 0)], following: 20) == [false])
    }

    @Test func `more than two reverts at once, or with many others, may be the first of many`() {
        let mayBeMany = { (window: ChangeWindow, count: Int, following: Int) in
            window.recent(
                besides: Set(many.prefix(count).map(task)), at: .zero, following: following
            ).isHolding
        }
        var window = ChangeWindow(.revert)
        #expect(!mayBeMany(window, 2, 0) && mayBeMany(window, 3, 0) && mayBeMany(window, 1, 2))
        window.add(plan(reverts: [20, 21], of: 30, RecentChanges()), at: .zero)
        #expect(mayBeMany(window, 1, 0))
    }

    @Test func `reverts that are held, or were let through a moment ago, count too`() {
        #expect(held([([0], 0)], following: 11) == [true])
        let (first, second) = (Array(many.prefix(6)), Array(many.suffix(6)))
        #expect(held([(first, 0), (second, 30), (second, 90)]) == [false, true, false])
    }

    @Test func `one task that goes back and forth is one`() {
        #expect(!held((0..<30).map { ([0], $0) }).contains(true))
    }

    @Test func `a revert is held although its document has changed`() {
        let recent = RecentChanges(isHolding: true)
        #expect(plan(reverts: [0], of: 1, recent, isMerged: true).operations.map(\.action) == [.hold(.revert)])
    }
}
