package import DocumentModel

/// How each field of a kind of documents is merged.
package struct MergePolicy: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        /// One value; the later commit wins. Without a common base that is the one that `origins` tells, where it does.
        case scalar
        /// An array whose elements are each there or not.
        case set
        /// A map whose elements are scalars of their own.
        case map
        /// Lines of text.
        case text
        /// What a commit itself tells, such as its time: no edit, never displaced.
        case serverTime
        /// A map from field paths to who set those fields last: no edit, never displaced; each entry goes with its field's value.
        case origins
    }

    /// By top-level field; all others are scalars.
    package var kinds: [String: Kind]
    /// Fields that only make sense together: they come from one side, as one scalar. May name elements of maps.
    package var groups: [[FieldPath]]
    /// For maps of maps: the fields in which two elements have to agree to be the same thing, which both sides made. Theirs stands
    /// then, and nothing is displaced.
    package var identities: [String: [String]]
    /// The field that a deleted document has. Setting it gives way to an edit of the other side.
    package var deletion: String?
    /// The field that says when the document was made, which is when all was set that `origins` does not tell of. In a value that is a
    /// map it says when that was set, where `origins` only tell by whom.
    package var creation: String?

    package init(
        kinds: [String: Kind] = [:], groups: [[FieldPath]] = [], identities: [String: [String]] = [:],
        deletion: String? = nil, creation: String? = nil
    ) {
        self.kinds = kinds
        self.groups = groups
        self.identities = identities
        self.deletion = deletion
        self.creation = creation
    }

    /// Stands in a version for the time of a commit that is still to come; no remote gives it.
    package static let pendingTime = Timestamp.distantPast

    /// When a value was set, by its entry in `origins`; nil where that does not tell.
    package func time(in entry: [String: Value], of value: Value?) -> Timestamp? {
        (entry["time"] ?? creation.flatMap { value?.mapValue?[$0] })?.timestampValue
    }

    package func kind(of field: String) -> Kind { kinds[field] ?? .scalar }

    /// Whether the field only tells of changes of others.
    func isBookkeeping(_ field: String) -> Bool { [.serverTime, .origins].contains(kind(of: field)) }

    /// For `tasks/{id}`. A typed field and the custom field of the same name are two spellings of one thing: `priority: odd` in
    /// a file is `fields.priority`, and `fields.due` is the text of `due`.
    package static let tasks = MergePolicy(
        kinds: [
            "tags": .set, "fields": .map, "attachments": .map, "notes": .text, "layout": .text,
            "createdTime": .serverTime,
            "updatedTime": .serverTime, "completedTime": .serverTime, "deletedTime": .serverTime,
            "signatures": .serverTime, "origins": .origins,
        ],
        groups: [
            [FieldPath(key: "title"), custom("title")],
            [FieldPath(key: "priority"), custom("priority")],
            [FieldPath(key: "due"), FieldPath(key: "dueHasTime"), custom("due")],
            [FieldPath(key: "completed"), FieldPath(key: "completedTime"), custom("completed")],
        ],
        identities: ["attachments": ["name", "sha256"]],
        deletion: "deletedTime", creation: "createdTime")

    /// The `rule` of an origin whose value holds both sides' changes.
    package static let mergedRule = "merged"

    /// For `lists/{id}`.
    package static let lists = MergePolicy(
        kinds: ["sharedWith": .set, "names": .map, "createdTime": .serverTime, "signatures": .serverTime])

    private static func custom(_ key: String) -> FieldPath { FieldPath(key: "fields").appending(key) }
}
