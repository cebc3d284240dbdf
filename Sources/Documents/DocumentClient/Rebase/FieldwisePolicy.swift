public import DocumentModel

/// A policy that merges field by field: changes of different fields, and of different keys of a
/// map, are all applied. If both sides changed the same value, `mine` wins, because it is committed
/// later.
public struct FieldwisePolicy: RebasePolicy {
    /// The id of the collection below the document in which displaced values are stored; nil if
    /// they are not stored.
    public let historyCollection: String?

    /// Creates a policy.
    public init(historyCollection: String? = nil) {
        self.historyCollection = historyCollection
    }

    /// Merges field by field. An edit wins over a delete.
    public func decide(_ proposal: inout RebaseProposal) {
        guard let mine = proposal.mine, let theirs = proposal.theirs else {
            // An edit wins over a delete, whichever came first.
            if proposal.theirs == proposal.base { return }
            proposal.merged = proposal.mine ?? proposal.theirs
            proposal.displaced = [DisplacedValue(path: nil, value: nil, reason: "editSurvivesDelete")]
            return
        }
        proposal.merged = Self.merge(
            base: proposal.base ?? [:], mine: mine, theirs: theirs, at: [], displaced: &proposal.displaced)
    }

    /// Returns history entries for the displaced values, if there is a history collection.
    public func history(of displaced: [DisplacedValue], in context: RebaseContext) -> [Write] {
        guard let historyCollection else { return [] }
        return HistoryEntry.writes(of: displaced, in: context, collection: historyCollection)
    }

    private static func merge(
        base: [String: Value], mine: [String: Value], theirs: [String: Value], at path: [String],
        displaced: inout [DisplacedValue]
    ) -> [String: Value] {
        var merged = theirs
        for key in Set(mine.keys).union(base.keys).sorted() {
            let (before, wanted, found) = (base[key], mine[key], theirs[key])
            if wanted == before || wanted == found { continue }
            if found == before {
                merged[key] = wanted
            } else if case (.map(let wanted)?, .map(let found)?) = (wanted, found) {
                merged[key] = .map(
                    merge(
                        base: before?.mapValue ?? [:], mine: wanted, theirs: found, at: path + [key],
                        displaced: &displaced))
            } else {
                merged[key] = wanted
                let place = try? FieldPath(path + [key])
                displaced.append(
                    DisplacedValue(path: place ?? FieldPath(key: key), value: found, reason: "changedOnBothSides"))
            }
        }
        return merged
    }
}
