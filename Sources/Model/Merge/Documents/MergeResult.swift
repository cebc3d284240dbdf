package import DocumentModel

/// What a merge made of two versions of a document.
package struct MergeResult: Sendable, Hashable {
    /// nil: the document is deleted.
    package var fields: [String: Value]?
    /// What somebody saved and the result lacks, in order of fields; goes to the document's history in the same commit.
    package var displaced: [DisplacedValue]

    package init(fields: [String: Value]?, displaced: [DisplacedValue] = []) {
        self.fields = fields
        self.displaced = displaced
    }
}

extension MergePolicy {
    /// `origin`, if a version tells who had set a displaced value: for the entry that keeps it.
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

/// A value that gave way in a merge.
package struct DisplacedValue: Sendable, Hashable {
    package enum Side: String, Sendable, Hashable {
        case mine
        case theirs
    }

    package enum Reason: String, Sendable, Hashable {
        /// Both sides changed the field; the later change stands.
        case changedOnBothSides
        /// Both changed the same lines of a text. The value is the whole text of the other side.
        case overlappingText
        /// One side deleted the document that the other edited.
        case editSurvivesDelete
    }

    /// `__name__` for a delete of the whole document.
    package var field: FieldPath
    /// nil: that side had removed the field.
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
