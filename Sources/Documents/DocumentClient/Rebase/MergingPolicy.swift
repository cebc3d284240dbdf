public import DocumentModel
package import Merge

/// The rules of the Merge room: scalars, sets, maps, texts, groups, and a field that says that a document is deleted.
public struct MergingPolicy: RebasePolicy {
    private let rules: MergePolicy
    private let historyCollection: String?
    private let copiedFields: [String]
    public let signatureField: String?

    /// - Parameters:
    ///   - historyCollection: where displaced values are kept, as a collection id below the document; nil: nowhere.
    ///   - copiedFields: fields of the document that each history entry has too, such as the owner that rules ask for.
    ///   - signatureField: see `RebasePolicy`.
    package init(
        _ rules: MergePolicy, historyCollection: String? = nil, copiedFields: [String] = [],
        signatureField: String? = nil
    ) {
        self.rules = rules
        self.historyCollection = historyCollection
        self.copiedFields = copiedFields
        self.signatureField = signatureField
    }

    public func decide(_ proposal: inout RebaseProposal) {
        // A commit's time is not known yet; the merge sees the field set.
        let pending = Value.timestamp(MergePolicy.pendingTime)
        let times = proposal.transforms.filter { $0.operation == .serverTimestamp }.map(\.path)
        var mine = proposal.mine
        for path in times { mine?.setValue(pending, at: path.segments[...]) }
        let result = DocumentMerge.merge(base: proposal.base, mine: mine, theirs: proposal.theirs, policy: rules)
        var merged = result.fields
        proposal.transforms.removeAll { transform in
            guard times.contains(transform.path), !isBookkeeping(transform.path) else { return false }
            return merged?.value(at: transform.path.segments[...]) != pending
        }
        for path in times where merged?.value(at: path.segments[...]) == pending || isBookkeeping(path) {
            merged?.setValue(proposal.theirs?.value(at: path.segments[...]), at: path.segments[...])
        }
        proposal.merged = merged
        proposal.displaced = result.displaced.map { displaced in
            DisplacedValue(
                path: displaced.field.isDocumentName ? nil : displaced.field,
                value: displaced.value == pending ? nil : displaced.value, reason: displaced.reason.rawValue,
                details: rules.origin(of: displaced, mine: proposal.mine, theirs: proposal.theirs))
        }
    }

    public func history(of displaced: [DisplacedValue], in context: RebaseContext) -> [Write] {
        guard let historyCollection else { return [] }
        let extra = context.fields.filter { copiedFields.contains($0.key) }
        return HistoryEntry.writes(of: displaced, in: context, collection: historyCollection, extra: extra)
    }

    /// Whether the field only tells when a document was written, and goes with every write.
    private func isBookkeeping(_ path: FieldPath) -> Bool {
        guard let key = path.segments.first, rules.kind(of: key) == .serverTime, key != rules.deletion else {
            return false
        }
        return !rules.groups.joined().contains { $0 == path }
    }
}
