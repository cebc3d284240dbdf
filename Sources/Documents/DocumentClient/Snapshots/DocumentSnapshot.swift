public import DocumentModel

/// A document as this replica saw it at one moment: what the remote has, with local changes on top.
public struct DocumentSnapshot: Sendable, Hashable {
    /// What to put in a field that will hold the time of a commit that has not happened yet.
    public enum PendingTime: Sendable, Hashable {
        /// Null.
        case null
        /// A guess at the time, for showing only.
        case estimate(Timestamp)
        /// The value before the change; null if there was none.
        case previous
    }

    public let name: DocumentName
    public let exists: Bool
    /// The remote's times; nil for a document that it has not ordered yet.
    public let createTime: Timestamp?
    public let updateTime: Timestamp?
    /// Whether changes of this replica are in it that the remote has not ordered yet.
    public let hasPendingWrites: Bool
    /// Whether the remote refuses one of those changes for good, and it waits for somebody's decision.
    public let hasParkedWrites: Bool
    /// Whether this replica's copy was damaged and the remote has not sent the document again: nothing is known of it but the
    /// changes made here, and it must not be taken for one that does not exist.
    public let isAwaited: Bool
    private let content: [String: Value]
    private let pendingTimes: [FieldPath: Value?]

    init(
        name: DocumentName, view: LocalView, createTime: Timestamp?, updateTime: Timestamp?, hasPendingWrites: Bool,
        hasParkedWrites: Bool, isAwaited: Bool = false
    ) {
        self.name = name
        exists = view.fields != nil
        self.createTime = createTime
        self.updateTime = updateTime
        self.hasPendingWrites = hasPendingWrites
        self.hasParkedWrites = hasParkedWrites
        self.isAwaited = isAwaited
        content = view.fields ?? [:]
        pendingTimes = view.pendingTimes
    }

    /// The fields, empty if the document does not exist; pending commit times are null.
    public var fields: [String: Value] { fields(pendingTimes: .null) }

    public func fields(pendingTimes choice: PendingTime) -> [String: Value] {
        guard !pendingTimes.isEmpty else { return content }
        var fields = content
        for (path, previous) in pendingTimes {
            let value: Value =
                switch choice {
                case .null: .null
                case .estimate(let time): .timestamp(time)
                case .previous: previous ?? .null
                }
            fields.setValue(value, at: path.segments[...])
        }
        return fields
    }

    /// The value at a path; nil where there is none, null where a commit's time is still to come.
    public subscript(path: FieldPath) -> Value? { fields.value(at: path.segments[...]) }

    public subscript(key: String) -> Value? { self[FieldPath(key: key)] }

    /// The fields that will hold the time of the commit that carries this replica's change.
    public var pendingTimePaths: Set<FieldPath> { Set(pendingTimes.keys) }

    /// The document as queries see it; pending times come after all others.
    package var document: Document {
        let latest = Timestamp(microseconds: 253_402_300_799_999_999)
        return Document(
            name: name, fields: fields(pendingTimes: .estimate(latest)), createTime: createTime ?? latest,
            updateTime: updateTime ?? latest)
    }
}
