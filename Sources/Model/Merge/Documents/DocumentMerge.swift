package import DocumentModel

/// Brings two edits of one document together.
///
/// `mine` is the side that commits later. Without a common base, as where a remote was put back, both may have been committed
/// before: then the later of the remote's times in their `origins` decides. Nothing here looks at a clock or at the order of keys; the laws:
/// - where only one side changed a field, its value stands; where both made the same change, it is made once;
/// - each value that a side saved is in the result or among the displaced ones;
/// - merging the result again with either version changes nothing;
/// - fields that no policy names are scalars, so unknown ones survive.
package enum DocumentMerge {
    /// - Parameters:
    ///   - base: the version that `mine` was made from; nil if there was none.
    ///   - mine: nil if this side deleted the document, likewise `theirs`.
    package static func merge(
        base: [String: Value]?, mine: [String: Value]?, theirs: [String: Value]?, policy: MergePolicy
    ) -> MergeResult {
        if theirs == base { return MergeResult(fields: mine) }
        if mine == base { return MergeResult(fields: theirs) }
        guard let mine, let theirs else {
            return mergeDeleted(base: base ?? [:], mine: mine, theirs: theirs, policy: policy)
        }
        var merge = FieldMerge(base: base, mine: mine, theirs: theirs, policy: policy)
        return merge.run()
    }

    /// The edit survives, whichever side it is on.
    private static func mergeDeleted(
        base: [String: Value], mine: [String: Value]?, theirs: [String: Value]?, policy: MergePolicy
    ) -> MergeResult {
        guard let survivor = mine ?? theirs, FieldMerge.isEdited(survivor, from: base, policy: policy) else {
            return MergeResult(fields: nil)
        }
        let deletion = DisplacedValue(
            field: .documentName, value: nil, side: mine == nil ? .mine : .theirs, reason: .editSurvivesDelete)
        return MergeResult(fields: survivor, displaced: [deletion])
    }
}
