import DocumentClient
import DocumentModel
import Merge
import Reconciliation

/// The rules for tasks that changed on two sides, as `TaskMerge` defines them.
struct TaskRebasePolicy: RebasePolicy {
    let rules: MergingPolicy

    var signatureField: String? { rules.signatureField }

    func decide(_ proposal: inout RebaseProposal) {
        let base = proposal.base
        let (mine, theirs, displaced) = TaskMerge.mergingReminders(
            base: base, mine: proposal.mine.map { TaskMerge.readingCompletion(of: $0, after: base) },
            theirs: proposal.theirs.map { TaskMerge.readingCompletion(of: $0, after: base) })
        var read = RebaseProposal(
            name: proposal.name, base: base.map { TaskMerge.readingCompletion(of: $0, after: nil) },
            mine: mine, theirs: theirs, transforms: proposal.transforms)
        rules.decide(&read)
        proposal.merged = read.merged.map(TaskMerge.computingEnd)
        proposal.transforms = read.transforms
        if proposal.merged?["completed"] != .boolean(true) {
            proposal.transforms.removeAll { $0.path == FieldPath(key: "completedTime") }
        }
        proposal.displaced =
            read.displaced
            + displaced.map {
                DocumentClient.DisplacedValue(path: $0.field, value: $0.value, reason: $0.reason.rawValue)
            }
    }

    func history(of displaced: [DocumentClient.DisplacedValue], in context: RebaseContext) -> [Write] {
        rules.history(of: displaced, in: context)
    }
}
