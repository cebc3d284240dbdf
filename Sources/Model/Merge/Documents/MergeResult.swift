package import DocumentModel

/// The result of merging two versions of a document.
package struct MergeResult: Sendable, Hashable {
    /// The merged fields; nil if the document is deleted.
    package var fields: [String: Value]?
    /// The values that a side saved and the result lacks, ordered by field. They are added to the
    /// document's history in the same commit.
    package var displaced: [DisplacedValue]

    package init(fields: [String: Value]?, displaced: [DisplacedValue] = []) {
        self.fields = fields
        self.displaced = displaced
    }
}

extension MergePolicy {
    /// Returns `["origin": …]` if a version records who set a displaced value, for the history
    /// entry that keeps the value; otherwise an empty dictionary.
    package func origin(
        of displaced: DisplacedValue, mine: [String: Value]?, theirs: [String: Value]?
    ) -> [String: Value] {
        let side = displaced.side == .mine ? mine : theirs
        guard let key = kinds.first(where: { $0.value == .origins })?.key,
            let origin = side?[key]?.mapValue?[displaced.field.description]
        else { return [:] }
        return ["origin": origin]
    }
}

/// A value that was displaced by a merge.
package struct DisplacedValue: Sendable, Hashable {
    package enum Side: String, Sendable, Hashable {
        case mine
        case theirs
    }

    package enum Reason: String, Sendable, Hashable {
        /// Both sides changed the field; the later change won.
        case changedOnBothSides
        /// Both sides changed the same lines of a text. The value is the whole text of the
        /// displaced side.
        case overlappingText
        /// One side deleted the document that the other side edited.
        case editSurvivesDelete
        /// The user removed an attachment. No conflict.
        case removed
        /// The user put another value in its place. No conflict.
        case replaced
    }

    /// The field's path; `__name__` for the deletion of the whole document.
    package var field: FieldPath
    /// The displaced value; nil if that side had removed the field.
    package var value: Value?
    package var side: Side
    package var reason: Reason

    package init(field: FieldPath, value: Value?, side: Side, reason: Reason) {
        self.field = field
        self.value = value
        self.side = side
        self.reason = reason
    }
}
