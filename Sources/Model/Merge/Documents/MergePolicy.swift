package import DocumentModel

/// The rules by which each field of a kind of document is merged.
package struct MergePolicy: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        /// One value; the later commit wins. Without a common base, the later commit is the one
        /// that `origins` records as later.
        case scalar
        /// An array whose elements are each present or absent.
        case set
        /// A map whose elements are separate scalars.
        case map
        /// Text, merged by lines.
        case text
        /// A value that the commit determines, such as its time. It does not count as an edit and
        /// is never displaced.
        case serverTime
        /// A map from field paths to the user and time of their last change. It does not count as
        /// an edit and is never displaced; each entry accompanies the value of its field.
        case origins
    }

    /// The kinds of top-level fields. All other fields are scalars.
    package var kinds: [String: Kind]
    /// Groups of fields that only make sense together: all fields of a group are taken from one
    /// side, as one scalar. May name elements of maps.
    package var groups: [[FieldPath]]
    /// The fields in which two elements of a map of maps must agree to represent the same thing,
    /// created by both sides. Then `theirs` is kept and nothing is displaced.
    package var identities: [String: [String]]
    /// The field that a document in the trash has. Setting it yields to an edit of the other side.
    package var deletion: String?
    /// The fields whose changes are not edits that survive a delete, such as snoozes.
    package var incidental: Set<String> = []
    /// The field that holds the document's creation time, which is the time of all values that
    /// `origins` does not mention. In a value that is a map, this key holds the time of the value
    /// if `origins` records only the user.
    package var creation: String?

    /// The dates that are derived from other fields; nil if there are none.
    package var derivation: Derivation?

    /// Fields of documents with a `marker` that are derived from other fields, such as the dates of
    /// a recurring task. If both sides changed one, the greater value is kept. The other one is
    /// recorded in the history without being a conflict, because it may have been set by hand.
    package struct Derivation: Sendable, Hashable {
        package var marker: FieldPath
        package var paths: [FieldPath]

        package init(marker: FieldPath, paths: [FieldPath]) {
            self.marker = marker
            self.paths = paths
        }
    }

    package init(
        kinds: [String: Kind] = [:], groups: [[FieldPath]] = [], identities: [String: [String]] = [:],
        derivation: Derivation? = nil, deletion: String? = nil, creation: String? = nil,
        incidental: Set<String> = []
    ) {
        self.incidental = incidental
        self.derivation = derivation
        self.kinds = kinds
        self.groups = groups
        self.identities = identities
        self.deletion = deletion
        self.creation = creation
    }

    /// A placeholder for the time of a commit that has not happened yet. No server assigns it.
    package static let pendingTime = Timestamp.distantPast

    /// Returns the time at which a value was set, according to its entry in `origins`; nil if the
    /// entry does not record it.
    package func time(in entry: [String: Value], of value: Value?) -> Timestamp? {
        (entry["time"] ?? creation.flatMap { value?.mapValue?[$0] })?.timestampValue
    }

    package func kind(of field: String) -> Kind { kinds[field] ?? .scalar }

    /// Whether the field only describes changes of other fields.
    func isBookkeeping(_ field: String) -> Bool {
        [.serverTime, .origins].contains(kind(of: field)) || incidental.contains(field)
    }

    /// The policy for `tasks/{id}`.
    ///
    /// A typed field and the custom field of the same name represent the same thing: `priority:
    /// odd` in a file is `fields.priority`, and `fields.due` is the text of `due`.
    package static let tasks = MergePolicy(
        kinds: [
            "tags": .set, "fields": .map, "attachments": .map, "instances": .map, "snoozes": .map, "notes": .text,
            "layout": .text,
            "createdTime": .serverTime,
            "updatedTime": .serverTime, "completedTime": .serverTime, "deletedTime": .serverTime,
            // Of two machines that create one task, such as an occurrence that is kept, the first one has.
            "createdBy": .serverTime,
            "signatures": .serverTime, "origins": .origins,
        ],
        groups: [
            [FieldPath(key: "title"), custom("title")],
            [FieldPath(key: "priority"), custom("priority")],
            [FieldPath(key: "due"), FieldPath(key: "dueHasTime"), custom("due")],
            [FieldPath(key: "completed"), FieldPath(key: "completedTime"), custom("completed")],
        ],
        // An occurrence that two machines completed is one completion, that of the first commit. Of
        // two snoozes by one user the first commit stands, without a conflict.
        identities: ["attachments": ["name", "sha256"], "instances": ["state"], "snoozes": []],
        derivation: Derivation(
            marker: custom("recurrence"),
            paths: [FieldPath(key: "due"), custom("scheduled")]),
        deletion: "deletedTime", creation: "createdTime", incidental: ["snoozes"])

    /// The `rule` of an origin whose value combines the changes of both sides.
    package static let mergedRule = "merged"

    /// The policy for `lists/{id}`.
    package static let lists = MergePolicy(
        kinds: ["sharedWith": .set, "names": .map, "createdTime": .serverTime, "signatures": .serverTime])

    private static func custom(_ key: String) -> FieldPath { FieldPath(key: "fields").appending(key) }
}
