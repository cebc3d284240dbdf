import DocumentClient
import DocumentModel
import Reconciliation

/// The rules for tasks that changed on two sides, as `TaskMerge` has them.
struct TaskRebasePolicy: RebasePolicy {
    let rules: MergingPolicy

    var signatureField: String? { rules.signatureField }

    func decide(_ proposal: inout RebaseProposal) {
        let base = proposal.base
        var read = RebaseProposal(
            name: proposal.name, base: base.map { TaskMerge.readingCompletion(of: $0, after: nil) },
            mine: proposal.mine.map { TaskMerge.readingCompletion(of: $0, after: base) },
            theirs: proposal.theirs.map { TaskMerge.readingCompletion(of: $0, after: base) },
            transforms: proposal.transforms)
        rules.decide(&read)
        proposal.merged = read.merged.map(TaskMerge.computingEnd)
        proposal.transforms = read.transforms
        if proposal.merged?["completed"] != .boolean(true) {
            proposal.transforms.removeAll { $0.path == FieldPath(key: "completedTime") }
        }
        proposal.displaced = read.displaced
    }

    func history(of displaced: [DisplacedValue], in context: RebaseContext) -> [Write] {
        rules.history(of: displaced, in: context)
    }
}
