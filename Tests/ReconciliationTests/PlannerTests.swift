import DocumentModel
import Reconciliation
import ReconciliationTestKit
import TaskModel
import Testing

/// The stages of the planner that follow the table.
@Suite struct PlannerTests {
    private typealias Node = TreeCase.Node
    private typealias State = TreeCase.State

    private func task(_ number: Int) -> NodeID { .task(TaskID("T\(number)")) }
    private func list(_ number: Int) -> NodeID { .list(ListID("L\(number)")) }

    /// A task in step, called `name`.
    private func calm(_ id: NodeID, _ name: String, in list: NodeID? = nil, number: Int = 1) -> Node {
        let state = State(list, name, SampleContents(number))
        let file = name + (id.kind == .task ? ".md" : "")
        return Node(
            id, synced: state, at: list, called: file, local: .file(list, file, state.contents), remote: .living(state))
    }

    private func removed(_ node: Node) -> Node {
        var node = node
        node.local = .absent
        return node
    }

    /// Performs plans until one has no operations, and returns where the files are then.
    private func files(_ treeCase: TreeCase, _ conditions: Conditions = Conditions()) -> [NodeID: Location] {
        var replica = ModelReplica(treeCase.trees)
        replica.conditions = conditions
        var server = ModelServer(treeCase.trees.remote)
        let plan = Planner.plan(replica.trees, conditions)
        #expect(replica.perform(plan.operations, on: &server) == [])
        #expect(Planner.plan(replica.trees, replica.conditions).operations == [])
        return Dictionary(
            uniqueKeysWithValues: replica.trees.local.ids.compactMap { id in
                replica.trees.local[id].file.map { (id, $0.location) }
            })
    }

    // MARK: Names

    @Test func `names that are swapped elsewhere are swapped here`() {
        var (a, b) = (calm(task(1), "A"), calm(task(2), "B", number: 2))
        a.remote = .living(State(nil, "B", SampleContents(1)))
        b.remote = .living(State(nil, "A", SampleContents(2)))
        let found = files(TreeCase([a, b]))
        #expect(found == [task(1): Location(nil, FileName("B.md")), task(2): Location(nil, FileName("A.md"))])
    }

    @Test func `a cycle of a thousand renames takes one more rename than it has files`() {
        let nodes = (0..<1_000).map { number in
            var node = calm(task(number), "N\(number)", number: number)
            node.remote = .living(State(nil, "N\((number + 1) % 1_000)", SampleContents(number)))
            return node
        }
        let trees = TreeCase(nodes).trees
        var (replica, server) = (ModelReplica(trees), ModelServer(trees.remote))
        let plan = Planner.plan(trees)
        #expect(plan.operations.count == 1_001)
        #expect(replica.perform(plan.operations, on: &server) == [])
        #expect(Planner.plan(replica.trees).operations == [])
    }

    @Test func `of two tasks of one name the older one has it, on every machine`() {
        let (a, b) = (State(nil, "A", SampleContents(1)), State(nil, "A", SampleContents(2)))
        let nodes = [
            Node(task(2), local: .absent, remote: .living(b)), Node(task(1), local: .absent, remote: .living(a)),
        ]
        // The position in the case is the time at which the server had the document.
        let found = files(TreeCase(nodes))
        #expect(found == [task(2): Location(nil, FileName("A.md")), task(1): Location(nil, FileName("A (2).md"))])
    }

    @Test func `a foreign file keeps its name, and the task says so`() {
        let node = Node(task(1), local: .absent, remote: .living(State(nil, "A", SampleContents(1))))
        let treeCase = TreeCase([node], foreign: [Location(nil, FileName("A.md"))])
        #expect(files(treeCase) == [task(1): Location(nil, FileName("A (2).md"))])
        #expect(Planner.plan(treeCase.trees).reasons[task(1)] == .nameTaken(FileName("A.md")))
    }

    @Test func `two Unicode forms of a name are two names`() {
        let nodes = [
            Node(task(1), local: .absent, remote: .living(State(nil, "\u{E9}", SampleContents(1)))),
            Node(task(2), local: .absent, remote: .living(State(nil, "e\u{301}", SampleContents(2)))),
        ]
        let found = files(TreeCase(nodes))
        #expect(found[task(1)]?.fileName == FileName("\u{E9}.md"))
        #expect(found[task(2)]?.fileName == FileName("e\u{301}.md"))
    }

    // MARK: Lists

    @Test func `a list that was deleted elsewhere lives on with a task that was put into it`() {
        var list = calm(list(1), "Work")
        list.remote = .absent
        let new = Node(task(1), local: .file(list.id, "A.md", SampleContents(1)), remote: .absent)
        let found = files(TreeCase([list, new]))
        #expect(found[list.id] == Location(nil, FileName("Work")))
        #expect(found[task(1)] == Location(list.id, FileName("A.md")))
    }

    @Test func `a list whose name has several levels gets those above it, which are lists as long as it is there`() {
        let deep = Node(list(3), local: .absent, remote: .living(State(list(2), "Plans", SampleContents(0))))
        var trees = TreeCase([deep]).trees
        let none = SampleContents(0).contents(of: .list)
        trees.remote.implied[list(1)] = NodeState(parent: nil, name: FileName("Home"), contents: none)
        trees.remote.implied[list(2)] = NodeState(parent: list(1), name: FileName("Work"), contents: none)
        var (replica, server) = (ModelReplica(trees), ModelServer(trees.remote))
        var conditions = Conditions()
        conditions.isPaused = true
        #expect(Planner.plan(trees, conditions).operations == [])
        #expect(replica.perform(Planner.plan(trees, dirty: [list(3)]).operations, on: &server) == [])
        #expect(replica.trees.local[list(2)].file?.location == Location(list(1), FileName("Work")))
        #expect(replica.trees.local[list(3)].file?.location == Location(list(2), FileName("Plans")))
        #expect(server[list(1)].node?.state.name == FileName("Home"))
        replica.trees.remote.implied = [:]
        #expect(Planner.plan(replica.trees).operations == [])
        // Without a list below them they are nothing.
        var alone = trees
        alone.remote[list(3)] = .absent
        #expect(Planner.plan(alone).operations == [])
    }

    @Test func `a directory that is removed makes room for a list of its name`() {
        var old = calm(list(1), "Work")
        old.remote = .absent
        let new = Node(list(2), local: .absent, remote: .living(State(nil, "Work", SampleContents(0))))
        var moving = calm(task(1), "A", in: old.id)
        moving.remote = .living(State(new.id, "A", SampleContents(1)))
        let found = files(TreeCase([old, new, moving]))
        #expect(found == [new.id: Location(nil, FileName("Work")), task(1): Location(new.id, FileName("A.md"))])
    }

    @Test func `who removes the directory of another user's list leaves it and deletes none of its tasks`() {
        let list = removed(calm(list(1), "Work"))
        let member = removed(calm(task(1), "A", in: list.id))
        var trees = TreeCase([list, member]).trees
        guard var node = trees.remote[list.id].node else { return #expect(Bool(false)) }
        node.access = .member
        trees.remote[list.id] = .living(node)
        let plan = Planner.plan(trees)
        #expect(plan.operations.map(\.action) == [.leaveList])
        #expect(plan.reasons[task(1)] == .leaving)
    }

    @Test func `an edit is sent although the file cannot move into its list's directory yet`() {
        var list = calm(list(1), "Work")
        list.local = .unreachable(.unreadable)
        var moving = calm(task(1), "A")
        moving.local = .file(nil, "A.md", SampleContents(2))
        moving.remote = .living(State(list.id, "A", SampleContents(1)))
        let trees = TreeCase([list, moving]).trees
        let (replica, server) = played(trees, Conditions())
        #expect(server[task(1)].node?.state == State(list.id, "A", SampleContents(2)).node(.task))
        #expect(replica.trees.local[task(1)].file?.location == Location(nil, FileName("A.md")))
        #expect(Planner.plan(replica.trees).reasons[task(1)] == .unreachable(.unreadable))
        var readable = replica.trees
        let directory = LocalFile(
            location: Location(nil, FileName("Work")), stamp: TreeCase.stamp(0),
            contents: SampleContents(0).contents(of: .list))
        readable.local[list.id] = .present(directory)
        #expect(Planner.plan(readable).operations.map(\.action) == [.moveFile(Location(list.id, FileName("A.md")))])
    }

    // MARK: Attachments

    @Test func `attachments go and come back with their task`() {
        let attachment = NodeID.attachment(AttachmentID("F"), of: TaskID("T1"))
        let file = calm(attachment, "a.pdf", in: task(1))
        var edited = removed(calm(task(1), "A"))
        edited.remote = .living(State(nil, "A", SampleContents(2)))
        let restored = Planner.plan(TreeCase([edited, removed(file)]).trees)
        #expect(restored.reasons[attachment] == .transferring)
        #expect(!restored.operations.contains { $0.action == .trashDocument })
        let deleted = Planner.plan(TreeCase([removed(calm(task(1), "A")), file]).trees)
        #expect(deleted.operations.map(\.action) == [.trashDocument, .trashFile])
    }

    @Test func `bytes come before the document that names them`() {
        let attachment = NodeID.attachment(AttachmentID("F"), of: TaskID("T1"))
        let new = Node(attachment, local: .file(task(1), "a.pdf", SampleContents(5)), remote: .absent)
        let trees = TreeCase([calm(task(1), "A"), new]).trees
        let contents = SampleContents(5).contents(of: .attachment)
        let first = Planner.plan(trees)
        #expect(first.operations.map(\.action) == [.upload(contents)])
        var conditions = Conditions()
        for (transfer, reason) in [
            (Transfer.running(contents.digest), Reason.transferring), (.paused(contents.digest), .transferPaused),
            (.failed(contents.digest, message: "full"), .transferFailed("full")),
        ] {
            conditions.transfers = [attachment: transfer]
            let plan = Planner.plan(trees, conditions)
            #expect(plan.operations == [])
            #expect(plan.reasons[attachment] == reason)
        }
        conditions.transfers = [attachment: .finished(contents.digest)]
        #expect(Planner.plan(trees, conditions).operations.count == 1)
        conditions.transfers = [attachment: .finished(ContentDigest(0, 0, 0, 0))]
        #expect(Planner.plan(trees, conditions).operations.map(\.action) == [.upload(contents)])
    }

    @Test func `an attachment that is not wanted here is not downloaded, and says so`() {
        let attachment = NodeID.attachment(AttachmentID("F"), of: TaskID("T1"))
        let state = State(task(1), "a.pdf", SampleContents(5))
        let trees = TreeCase([calm(task(1), "A"), Node(attachment, local: .absent, remote: .living(state))]).trees
        var conditions = Conditions()
        conditions.unwanted = [attachment]
        let plan = Planner.plan(trees, conditions)
        #expect(plan.operations == [])
        #expect(plan.reasons == [attachment: .notDownloaded])
    }

    // MARK: Refused values

    @Test func `a refused value stays here, and the other fields of the task flow on`() {
        var node = calm(task(1), "A")
        node.local = .file(nil, "A.md", SampleContents(5, tags: [7]))
        let trees = TreeCase([node]).trees
        var (replica, server) = (ModelReplica(trees), ModelServer(trees.remote))
        server.refusesPriorities = true
        // The first try meets the refusal.
        #expect(replica.perform(Planner.plan(trees).operations, on: &server).count == 1)
        let plan = Planner.plan(replica.trees, replica.conditions)
        #expect(plan.reasons[task(1)] == .rejected("refused"))
        #expect(replica.perform(plan.operations, on: &server) == [])
        #expect(server[task(1)].node?.state.contents == SampleContents(1, tags: [7]).contents(of: .task))
        let after = Planner.plan(replica.trees, replica.conditions)
        #expect(after.operations == [])
        #expect(after.reasons[task(1)] == .rejected("refused"))
        #expect(replica.trees.local[task(1)].file?.contents == SampleContents(5, tags: [7]).contents(of: .task))
    }

    @Test func `news from elsewhere comes to a file with a refused value, and a mended one is sent`() {
        var node = calm(task(1), "A")
        node.local = .file(nil, "A.md", SampleContents(5))
        node.remote = .living(State(nil, "A", SampleContents(1, notes: [8])))
        var trees = TreeCase([node]).trees
        var conditions = Conditions()
        conditions.rejections[task(1)] = Rejection(
            state: trees.localState(of: task(1)), fields: ["priority"], message: "refused")
        let (replica, server) = played(trees, conditions)
        #expect(replica.trees.local[task(1)].file?.contents == SampleContents(5, notes: [8]).contents(of: .task))
        #expect(server[task(1)].node?.state.contents == SampleContents(1, notes: [8]).contents(of: .task))
        trees = replica.trees
        trees.remote[task(1)] = server[task(1)]
        guard var file = trees.local[task(1)].file else { return #expect(Bool(false)) }
        file.contents = SampleContents(6, notes: [8]).contents(of: .task)
        trees.local[task(1)] = .present(file)
        let mended = played(trees, conditions)
        #expect(mended.server[task(1)].node?.state.contents == SampleContents(6, notes: [8]).contents(of: .task))
    }

    @Test func `a mended value displaces what others made of the field while it was refused`() {
        var node = calm(task(1), "A")
        node.local = .file(nil, "A.md", SampleContents(5))
        node.remote = .living(State(nil, "A", SampleContents(3)))
        var conditions = Conditions()
        var trees = TreeCase([node]).trees
        conditions.rejections[task(1)] = Rejection(
            state: trees.localState(of: task(1)), fields: ["priority"], message: "refused")
        trees = played(trees, conditions).replica.trees
        guard var file = trees.local[task(1)].file else { return #expect(Bool(false)) }
        file.contents = SampleContents(6).contents(of: .task)
        trees.local[task(1)] = .present(file)
        let mended = played(trees, conditions).server
        #expect(mended[task(1)].node?.state.contents == SampleContents(6).contents(of: .task))
        #expect(mended.displaced == ["priority 3"])
    }

    @Test func `a state that was refused as a whole waits`() {
        var node = calm(task(1), "A")
        node.local = .file(nil, "A.md", SampleContents(5, tags: [7]))
        let trees = TreeCase([node]).trees
        var conditions = Conditions()
        conditions.rejections[task(1)] = Rejection(state: trees.localState(of: task(1)), message: "refused")
        let plan = Planner.plan(trees, conditions)
        #expect(plan.operations == [])
        #expect(plan.reasons == [task(1): .rejected("refused")])
    }

    private func played(_ trees: Trees, _ conditions: Conditions) -> (replica: ModelReplica, server: ModelServer) {
        var (replica, server) = (ModelReplica(trees), ModelServer(trees.remote))
        replica.conditions = conditions
        #expect(replica.perform(Planner.plan(trees, conditions).operations, on: &server) == [])
        #expect(Planner.plan(replica.trees, conditions).operations == [])
        return (replica, server)
    }

    // MARK: Held changes

    private func removing(_ count: Int, of total: Int) -> Trees {
        TreeCase((0..<total).map { $0 < count ? removed(calm(task($0), "N\($0)")) : calm(task($0), "N\($0)") }).trees
    }

    @Test(arguments: [(10, 10, false), (11, 54, true), (11, 55, false), (20, 100, false), (21, 100, true)])
    func `more than ten deletes that are more than a fifth of all are held`(
        _ count: Int, _ total: Int, _ isHeld: Bool
    ) {
        let plan = Planner.plan(removing(count, of: total))
        let actions = Set(plan.operations.map(\.action))
        #expect(actions == [isHeld ? .hold(.delete) : .trashDocument])
        #expect(plan.operations.count == count)
        #expect(plan.reasons[task(0)] == (isHeld ? .heldForReview(.delete) : .inProgress))
    }

    @Test func `deletes that were let through before count, and held ones hold further ones`() {
        var conditions = Conditions()
        conditions.deletes = RecentChanges(count: 10)
        #expect(Planner.plan(removing(2, of: 40), conditions).operations.map(\.action).contains(.hold(.delete)))
        conditions.deletes = RecentChanges(isHolding: true)
        #expect(Planner.plan(removing(1, of: 40), conditions).operations.map(\.action) == [.hold(.delete)])
    }

    @Test func `a held delete waits, is sent, undone, or given up`() {
        let trees = removing(1, of: 3)
        var conditions = Conditions()
        conditions.held = [task(0): .delete]
        #expect(Planner.plan(trees, conditions).operations == [])
        conditions.decisions = [task(0): .approve]
        #expect(Planner.plan(trees, conditions).operations.map(\.action) == [.release, .trashDocument])
        conditions.decisions = [task(0): .restore]
        #expect(
            files(TreeCase([removed(calm(task(0), "N0"))]), conditions) == [task(0): Location(nil, FileName("N0.md"))])
        conditions.decisions = [:]
        #expect(Planner.plan(removing(0, of: 3), conditions).operations.map(\.action) == [.release])
    }

    /// Many files that went back to earlier versions.
    private func reverting(_ count: Int, of total: Int) -> Trees {
        var trees = removing(0, of: total)
        for number in 0..<count {
            guard var file = trees.local[task(number)].file else { continue }
            file.contents = SampleContents(500 + number).contents(of: .task)
            file.isFormerVersion = true
            trees.local[task(number)] = .present(file)
        }
        return trees
    }

    @Test func `many files that go back to earlier versions are held, and single ones are edits`() {
        #expect(Set(Planner.plan(reverting(11, of: 20)).operations.map(\.action)) == [.hold(.revert)])
        #expect(!Planner.plan(reverting(10, of: 20)).operations.map(\.action).contains(.hold(.revert)))
        var conditions = Conditions()
        conditions.held = [task(0): .revert]
        conditions.decisions = [task(0): .restore]
        let trees = reverting(1, of: 1)
        var (replica, server) = (ModelReplica(trees), ModelServer(trees.remote))
        replica.conditions = conditions
        #expect(replica.perform(Planner.plan(trees, conditions).operations, on: &server) == [])
        #expect(replica.trees.local[task(0)].file?.contents == SampleContents(1).contents(of: .task))
    }

    // MARK: Rows

    @Test func `the file's state is the base as soon as its document has it`() {
        var node = calm(task(1), "A")
        node.local = .file(nil, "A.md", SampleContents(2))
        node.remote = .living(State(nil, "A", SampleContents(1, tags: [3])))
        let trees = TreeCase([node]).trees
        var (replica, server) = (ModelReplica(trees), ModelServer(trees.remote))
        let plan = Planner.plan(trees)
        #expect(plan.operations.count == 2)
        // Cut off between the commit and the write of the file.
        #expect(replica.perform(plan.operations, on: &server, limit: 1) == [])
        #expect(replica.trees.synced[task(1)]?.state.contents == SampleContents(2).contents(of: .task))
        let rest = Planner.plan(replica.trees)
        #expect(rest.operations.count == 1)
        #expect(replica.perform(rest.operations, on: &server) == [])
        #expect(replica.trees.local[task(1)].file?.contents == SampleContents(2, tags: [3]).contents(of: .task))
        #expect(Planner.plan(replica.trees).operations == [])
    }

    // MARK: Conditions

    @Test func `while anything holds sync, nothing is planned and everything has a reason`() {
        let trees = removing(2, of: 3)
        for (keyPath, reason) in [
            (\Conditions.isPaused, Reason.paused), (\.isRootHeld, .rootHeld), (\.isServerHeld, .serverHeld),
        ] {
            var conditions = Conditions()
            conditions[keyPath: keyPath] = true
            #expect(
                Planner.plan(trees, conditions) == Plan(operations: [], reasons: [task(0): reason, task(1): reason]))
        }
    }

    @Test func `a refused state waits with the server's message until it is another one`() {
        var node = calm(task(1), "A")
        node.local = .file(nil, "A.md", SampleContents(7))
        let trees = TreeCase([node]).trees
        var conditions = Conditions()
        let refused = NodeState(parent: nil, name: FileName("A"), contents: SampleContents(7).contents(of: .task))
        conditions.rejections = [task(1): Rejection(state: refused, message: "too large")]
        #expect(Planner.plan(trees, conditions) == Plan(operations: [], reasons: [task(1): .rejected("too large")]))
        node.local = .file(nil, "A.md", SampleContents(8))
        #expect(Planner.plan(TreeCase([node]).trees, conditions).operations.count == 1)
    }

    @Test(arguments: [(Access.readOnly, Reason.notPermitted), (.invited, .invited)])
    func `what the user may not change is not written`(_ access: Access, _ reason: Reason) {
        var node = calm(task(1), "A")
        node.local = .file(nil, "A.md", SampleContents(7))
        var trees = TreeCase([node]).trees
        guard var remote = trees.remote[task(1)].node else { return #expect(Bool(false)) }
        remote.access = access
        trees.remote[task(1)] = .living(remote)
        #expect(Planner.plan(trees) == Plan(operations: [], reasons: [task(1): reason]))
    }

    @Test func `the trash is emptied when both clocks say so`() {
        let state = State(nil, "A", SampleContents(1))
        let trees = TreeCase([Node(task(1), local: .absent, remote: .trashed(state))]).trees
        let days: Int64 = 30 * 86_400
        var conditions = Conditions()
        conditions.retention = Retention(days: 30)
        for (server, machine, isOver) in [(days, days, true), (days - 1, days, false), (days, days - 1, false)] {
            conditions.now = .init(server: .init(microseconds: server * 1_000_000 + 1), machine: machine)
            #expect(Planner.plan(trees, conditions).operations.map(\.action) == (isOver ? [.purgeDocument] : []))
        }
    }

    @Test func `every reason names a next step`() {
        let reasons: [Reason] = [
            .paused, .rootHeld, .serverHeld, .unreachable(.unreadable), .heldForReview(.delete), .rejected(""),
            .notPermitted, .invited, .notEmpty, .nameTaken(FileName("A")), .transferPaused, .transferFailed(""),
            .notDownloaded,
        ]
        for reason in reasons { #expect(reason.nextStep != .automatic) }
    }

    // MARK: Scope

    @Test func `a plan for one node of ten thousand looks at that node only`() {
        var nodes = (0..<10_000).map { calm(task($0), "N\($0)", in: list(1)) }
        nodes.append(calm(list(1), "Work"))
        nodes[5].remote = .living(State(list(1), "N5", SampleContents(77)))
        let trees = TreeCase(nodes).trees
        let all = Planner.plan(trees)
        #expect(all.operations.count == 1)
        #expect(Planner.plan(trees, dirty: [task(5)]) == all)
        #expect(Planner.plan(trees, dirty: [task(6)]).operations == [])
    }
}
