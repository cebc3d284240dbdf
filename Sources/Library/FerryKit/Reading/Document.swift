import DocumentClient
import DocumentCoding
import DocumentModel
public import FoundationEssentials

/// A document as it was at one time.
///
/// It is a value: change a copy and save it. Only what differs from the version that was read is
/// written. If others changed the document meanwhile, both changes are merged by the rules of the
/// model.
///
///     if var draft = try await milk.get() {
///         draft.title = "Oat milk"
///         try await draft.save()
///     }
@dynamicMemberLookup public struct Document<Model: DocumentModel>: Identifiable, Sendable {
    /// The name of the document.
    public let reference: Reference<Model>
    /// The content, which may be changed.
    public var data: Model
    /// The content that was read.
    public let base: Model
    /// The time at which the server created the document; nil if it does not have it yet.
    public let createTime: Date?
    /// The time of the server's last change of the document; nil if it does not have it yet.
    public let updateTime: Date?
    /// Whether the server has all changes of the document.
    public let state: WriteState
    /// The fields that were read, including those that the model does not have.
    let fields: [String: Value]

    /// The id of the document.
    public var id: String { reference.id }

    /// The value of a property of the model.
    public subscript<Content>(dynamicMember field: WritableKeyPath<Model, Content>) -> Content {
        get { data[keyPath: field] }
        set { data[keyPath: field] = newValue }
    }

    /// The value of a property of the model that cannot be changed.
    public subscript<Content>(dynamicMember field: KeyPath<Model, Content>) -> Content { data[keyPath: field] }

    /// Writes what was changed since the document was read.
    ///
    /// An edit of a document that was deleted meanwhile creates it again.
    @discardableResult public func save() async throws -> Write { try await reference.ferry.batch { $0.save(self) } }

    /// Creates the document of a snapshot; nil if it does not exist.
    ///
    /// - Throws: `DecodingError` if it does not fit the model.
    init?(_ snapshot: DocumentSnapshot, in ferry: Ferry) throws {
        guard snapshot.exists else { return nil }
        let state: WriteState =
            snapshot.hasParkedWrites ? .refused : snapshot.hasPendingWrites ? .pending : .ordered
        try self.init(
            Reference(checked: snapshot.name.path, in: ferry), fields: snapshot.fields,
            createTime: snapshot.createTime, updateTime: snapshot.updateTime, state: state, in: ferry)
    }

    init(
        _ reference: Reference<Model>, fields: [String: Value], createTime: Timestamp?, updateTime: Timestamp?,
        state: WriteState, in ferry: Ferry
    ) throws {
        self.reference = reference
        self.fields = fields
        base = try DocumentDecoder(context: CodingContext(owner: ferry)).decode(Model.self, from: fields)
        data = base
        self.createTime = createTime.map { Date($0) }
        self.updateTime = updateTime.map { Date($0) }
        self.state = state
    }

    /// The changes since the document was read.
    func edit(in session: Session, _ encoder: DocumentEncoder) throws -> DocumentEdit {
        let (old, new) = (try encoder.encode(base), try encoder.encode(data))
        var wanted = fields
        for path in FieldDifference.paths(from: old.fields, to: new.fields) {
            wanted.setValue(new.fields.value(at: path.segments[...]), at: path.segments[...])
        }
        return DocumentEdit(
            try session.name(reference.path), base: fields, wanted: wanted,
            commitTimes: new.commitTimes.filter { !old.commitTimes.contains($0) })
    }
}

/// Whether the server has all changes of a document.
public enum WriteState: Hashable, Sendable {
    /// The server has all changes.
    case ordered
    /// This machine has changes that it will send.
    case pending
    /// The server refused a change, which waits for a decision; see `Ferry.refusals`.
    case refused
}

/// A change that was written.
///
/// It is durable and visible before the server has it. Nothing needs to wait for the server.
public struct Write: Sendable {
    let handle: WriteHandle

    /// Waits until the server has the change, and returns the time of its commit; nil if it needed
    /// no change.
    ///
    /// - Throws: `FerryError` with `rejected` and the server's reason, `discarded`, or `closed`.
    @discardableResult public func ordered() async throws -> Date? {
        try await FerryError.translating { try await handle.committed().map { Date($0) } }
    }
}
