public import DocumentModel

/// A change of one document that was made locally and has not been committed by the remote yet.
public struct Mutation: Sendable, Hashable {
    /// The kinds of change.
    public enum Kind: Int32, Sendable, Hashable {
        /// Creates a document. If the remote already has a document with this name, both are
        /// merged.
        case create = 1
        /// Sets the content of the document to exactly `fields`, whether it exists or not.
        case set = 2
        /// Changes the masked fields. The document is created if it does not exist.
        case merge = 3
        /// Changes the masked fields of a document that is expected to exist.
        case update = 4
        case delete = 5
    }

    /// The name of the document.
    public let name: DocumentName
    /// The kind of change.
    public let kind: Kind
    /// The whole content for `create` and `set`; the new values of masked paths for `merge` and
    /// `update`.
    public let fields: [String: Value]
    /// The paths that `merge` and `update` change. A path that is absent from `fields` is removed.
    public let mask: [FieldPath]
    /// Changes that the remote computes after the other changes.
    public let transforms: [FieldTransform]
    /// Writes of other documents that take effect in the same commit or not at all, such as history
    /// entries of displaced values.
    package internal(set) var companions: [Write]
    /// The time of the version that a `create` offers to another remote without a local change; nil
    /// for other mutations. A remote with a version that is equally new keeps its version.
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

    /// Returns a mutation that creates a document.
    public static func create(
        _ name: DocumentName, _ fields: [String: Value], transforms: [FieldTransform] = []
    ) -> Mutation {
        Mutation(.create, name, fields: fields, transforms: transforms)
    }

    /// Returns a mutation that replaces the content of a document.
    public static func set(
        _ name: DocumentName, _ fields: [String: Value], transforms: [FieldTransform] = []
    ) -> Mutation {
        Mutation(.set, name, fields: fields, transforms: transforms)
    }

    /// Returns a mutation that changes fields of a document, which is created if it does not exist.
    ///
    /// - Parameter changes: the new value of each path; nil removes the field.
    public static func merge(
        _ name: DocumentName, _ changes: [FieldPath: Value?], transforms: [FieldTransform] = []
    ) -> Mutation {
        Mutation(.merge, name, changes: changes, transforms: transforms)
    }

    /// Returns a mutation that changes fields of an existing document.
    ///
    /// - Parameter changes: the new value of each path; nil removes the field.
    public static func update(
        _ name: DocumentName, _ changes: [FieldPath: Value?], transforms: [FieldTransform] = []
    ) -> Mutation {
        Mutation(.update, name, changes: changes, transforms: transforms)
    }

    /// Returns a mutation that deletes a document.
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

    /// Whether the document itself may change. An update without changes only checks that the
    /// document exists.
    var hasEffect: Bool {
        switch kind {
        case .create, .set, .delete: true
        case .merge, .update: !mask.isEmpty || !transforms.isEmpty
        }
    }

    /// Whether the document itself does not change, so that only the companions are written.
    var isOnlyCompanions: Bool {
        switch kind {
        case .create, .set, .delete: false
        case .merge, .update: !hasEffect && !companions.isEmpty
        }
    }

    /// The number of writes of a commit that the mutation requires.
    var writeCount: Int { companions.count + (isOnlyCompanions ? 0 : 1) }
}
