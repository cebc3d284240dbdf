package import DocumentModel

/// Merges two edits of one document.
///
/// `mine` is the side that commits later. Without a common base, for example after the server was
/// restored from a backup, both sides may have been committed before; then the later of the commit
/// times in their `origins` wins. The merge depends on no clock and on no order of keys. It
/// satisfies these laws:
/// - If only one side changed a field, its value is in the result. If both made the same change, it
///   is made once.
/// - Each value that a side saved is in the result or among the displaced values.
/// - Merging the result again with either version changes nothing.
/// - Fields that no policy names are scalars, so unknown fields are preserved.
package enum DocumentMerge {
    /// Merges two versions of a document.
    ///
    /// - Parameters:
    ///   - base: the version on which `mine` is based; nil if there was none.
    ///   - mine: the local version; nil if this side deleted the document.
    ///   - theirs: the remote version; nil if the other side deleted the document.
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

    /// Merges an edit with a delete: the edit wins, whichever side it is on.
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
