public import DocumentModel
package import Merge

/// A policy with the rules of the Merge target: scalars, sets, maps, texts, groups, and a field
/// that marks a document as deleted.
public struct MergingPolicy: RebasePolicy {
    private let rules: MergePolicy
    private let historyCollection: String?
    private let copiedFields: [String]
    /// The field in which replicas record their last change; see `RebasePolicy`.
    public let signatureField: String?

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - historyCollection: the id of the collection below the document in which displaced values
    ///     are stored; nil if they are not stored.
    ///   - copiedFields: fields of the document that are copied to each history entry, such as the
    ///     owner that security rules require.
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

    /// Merges with the rules.
    public func decide(_ proposal: inout RebaseProposal) {
        // The time of the commit is not known yet, so a placeholder is used during the merge.
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

    /// Returns history entries for the displaced values, if there is a history collection.
    public func history(of displaced: [DisplacedValue], in context: RebaseContext) -> [Write] {
        guard let historyCollection else { return [] }
        let extra = context.fields.filter { copiedFields.contains($0.key) }
        return HistoryEntry.writes(of: displaced, in: context, collection: historyCollection, extra: extra)
    }

    /// Whether the field only records when the document was written, and is set by every write.
    private func isBookkeeping(_ path: FieldPath) -> Bool {
        guard let key = path.segments.first, rules.kind(of: key) == .serverTime, key != rules.deletion else {
            return false
        }
        return !rules.groups.joined().contains { $0 == path }
    }
}
