import DocumentClient
import DocumentModel

/// The rules for lists that changed on two sides.
///
/// A list that was deleted elsewhere and is made again by an edit here comes back without its
/// members: the server lets only the members themselves join, with a new invitation.
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
