import Reconciliation
import ReconciliationTestKit
import TaskModel
import Testing

/// Cases that broke a law once, as `reconcile` printed them.
@Suite struct PlanRegressionTests {
    static let cases: [TreeCase] = [
        // An attachment of a document that was not reported went to the trash.
        TreeCase([
            TreeCase.Node(
                .attachment(AttachmentID("F1"), of: TaskID("T4")),
                synced: TreeCase.State(.task(TaskID("T4")), "B", SampleContents(62)), at: .task(TaskID("T4")),
                called: "B", local: .file(.task(TaskID("T4")), "B", SampleContents(62)), remote: .unknown)
        ]),
        // A task without a document took part in the allocation of names.
        TreeCase([
            TreeCase.Node(
                .task(TaskID("T0")), synced: TreeCase.State(nil, "A", SampleContents(18)), called: "A.md",
                local: .absent, remote: .unknown),
            TreeCase.Node(.task(TaskID("T4")), local: .file(nil, "A.md", SampleContents(34)), remote: .absent),
        ]),
        // A directory was removed in which a file had to stay, because its new directory could not be read.
        TreeCase([
            TreeCase.Node(
                .list(ListID("L0")), synced: TreeCase.State(nil, "A", SampleContents(0)), called: "A",
                local: .unreachable(.unreadable), remote: .living(TreeCase.State(nil, "A", SampleContents(0)))),
            TreeCase.Node(
                .list(ListID("L2")), synced: TreeCase.State(nil, "B", SampleContents(0)), called: "B",
                local: .file(nil, "B", SampleContents(0)), remote: .absent),
            TreeCase.Node(
                .task(TaskID("T4")), synced: TreeCase.State(.list(ListID("L2")), "x", SampleContents(38)),
                at: .list(ListID("L2")), called: "x.md", local: .file(.list(ListID("L2")), "x.md", SampleContents(38)),
                remote: .living(TreeCase.State(.list(ListID("L0")), "x", SampleContents(42)))),
        ]),
        // The attachment of a task that no tree knew any more was downloaded again.
        TreeCase([
            TreeCase.Node(
                .task(TaskID("T3")), synced: TreeCase.State(nil, "C", SampleContents(54)), called: "C.md",
                local: .file(nil, "C.md", SampleContents(54)), remote: .absent),
            TreeCase.Node(
                .attachment(AttachmentID("F2"), of: TaskID("T3")),
                synced: TreeCase.State(.task(TaskID("T3")), "a", SampleContents(62)), at: .task(TaskID("T3")),
                called: "a", local: .file(.task(TaskID("T3")), "a", SampleContents(62)),
                remote: .living(TreeCase.State(.task(TaskID("T3")), "a", SampleContents(62)))),
        ]),
    ]

    @Test(arguments: cases) func `a case that broke a law keeps them all`(_ treeCase: TreeCase) {
        var plans = 0
        #expect(PlanLaws.broken(by: treeCase, plans: &plans) == [])
    }
}
