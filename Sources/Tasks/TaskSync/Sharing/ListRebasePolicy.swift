import DocumentClient
import DocumentModel

/// The rules for lists that changed on two sides.
///
/// A list that was deleted elsewhere and that an edit here recreates comes back without its
/// members: the server lets members join only on their own, with a new invitation.
struct ListRebasePolicy: RebasePolicy {
    let rules: MergingPolicy

    var signatureField: String? { rules.signatureField }

    func decide(_ proposal: inout RebaseProposal) {
        rules.decide(&proposal)
        if proposal.theirs == nil { proposal.merged?["sharedWith"] = nil }
    }

    func history(of displaced: [DisplacedValue], in context: RebaseContext) -> [Write] {
        rules.history(of: displaced, in: context)
    }
}
