public import DocumentModel

/// A change of one document that a user made and the remote has not ordered yet.
public struct Mutation: Sendable, Hashable {
    public enum Kind: Int32, Sendable, Hashable {
        /// A new document. If the remote turns out to have one of that name, both are united.
        case create = 1
        /// The document becomes exactly `fields`, whether it exists or not.
        case set = 2
        /// The masked fields change; the document is created if it does not exist.
        case merge = 3
        /// The masked fields change; the document is expected to exist.
        case update = 4
        case delete = 5
    }

    public let name: DocumentName
    public let kind: Kind
    /// For `create` and `set` the whole content, for `merge` and `update` the new values of masked paths.
    public let fields: [String: Value]
    /// The paths that `merge` and `update` change; one that is absent from `fields` is removed.
    public let mask: [FieldPath]
    /// Changes that the remote computes, after the others.
    public let transforms: [FieldTransform]
    /// Writes of other documents that take effect in the same commit or not at all: what a merge displaced.
    package internal(set) var companions: [Write]
    /// Of a `create` that nobody made but that offers an earlier remote's version to another: the time of that version. A remote
    /// that has one as new is left as it is.
    var copyOf: Timestamp?

    package init(
        _ kind: Kind, _ name: DocumentName, fields: [String: Value] = [:], mask: [FieldPath] = [],
        transforms: [FieldTransform] = [], companions: [Write] = []
    ) {
        self.name = name
        self.kind = kind
        self.fields = fields
        self.mask = mask
        self.transforms = transforms
        self.companions = companions
    }

    public static func create(
        _ name: DocumentName, _ fields: [String: Value], transforms: [FieldTransform] = []
    ) -> Mutation {
        Mutation(.create, name, fields: fields, transforms: transforms)
    }

    public static func set(
        _ name: DocumentName, _ fields: [String: Value], transforms: [FieldTransform] = []
    ) -> Mutation {
        Mutation(.set, name, fields: fields, transforms: transforms)
    }

    /// - Parameter changes: the new value of each path; nil removes the field.
    public static func merge(
        _ name: DocumentName, _ changes: [FieldPath: Value?], transforms: [FieldTransform] = []
    ) -> Mutation {
        Mutation(.merge, name, changes: changes, transforms: transforms)
    }

    /// - Parameter changes: the new value of each path; nil removes the field.
    public static func update(
        _ name: DocumentName, _ changes: [FieldPath: Value?], transforms: [FieldTransform] = []
    ) -> Mutation {
        Mutation(.update, name, changes: changes, transforms: transforms)
    }

    public static func delete(_ name: DocumentName) -> Mutation { Mutation(.delete, name) }

    private init(
        _ kind: Kind, _ name: DocumentName, changes: [FieldPath: Value?], transforms: [FieldTransform]
    ) {
        var fields: [String: Value] = [:]
        for (path, value) in changes {
            if let value { fields.setValue(value, at: path.segments[...]) }
        }
        self.init(kind, name, fields: fields, mask: changes.keys.sorted(), transforms: transforms)
    }

    /// Whether the document itself may change; an update of nothing only checks that there is a document.
    var hasEffect: Bool {
        switch kind {
        case .create, .set, .delete: true
        case .merge, .update: !mask.isEmpty || !transforms.isEmpty
        }
    }

    /// Whether the document itself is left alone, so that only the companions are to be written.
    var isOnlyCompanions: Bool {
        switch kind {
        case .create, .set, .delete: false
        case .merge, .update: !hasEffect && !companions.isEmpty
        }
    }

    /// How many writes of a commit this takes.
    var writeCount: Int { companions.count + (isOnlyCompanions ? 0 : 1) }
}
