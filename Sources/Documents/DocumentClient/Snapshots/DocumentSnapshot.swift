public import DocumentModel

/// A document as this replica saw it at one time: the remote's version with local changes applied.
public struct DocumentSnapshot: Sendable, Hashable {
    /// The substitute for a field that will contain the time of a commit that has not happened yet.
    public enum PendingTime: Sendable, Hashable {
        /// Null.
        case null
        /// An estimate of the time, for display only.
        case estimate(Timestamp)
        /// The value before the change; null if there was none.
        case previous
    }

    /// The name of the document.
    public let name: DocumentName
    /// Whether the document exists.
    public let exists: Bool
    /// The time at which the remote created the document; nil if it has not been committed yet.
    public let createTime: Timestamp?
    /// The remote's version of the document; nil if it has not been committed yet.
    public let updateTime: Timestamp?
    /// Whether it contains changes of this replica that the remote has not committed yet.
    public let hasPendingWrites: Bool
    /// Whether the remote has rejected one of those changes, which waits for a decision.
    public let hasParkedWrites: Bool
    /// Whether this replica's copy was damaged and the remote has not sent the document again. Only
    /// the local changes are known, and the document must not be taken for one that does not exist.
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

    /// The fields, with null for pending commit times; empty if the document does not exist.
    public var fields: [String: Value] { fields(pendingTimes: .null) }

    /// Returns the fields with a choice of substitutes for pending commit times.
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

    /// The value at a path; nil if there is none, null if a commit's time is pending.
    public subscript(path: FieldPath) -> Value? { fields.value(at: path.segments[...]) }

    /// The value of a top-level field.
    public subscript(key: String) -> Value? { self[FieldPath(key: key)] }

    /// The fields that will contain the time of the commit with this replica's change.
    public var pendingTimePaths: Set<FieldPath> { Set(pendingTimes.keys) }

    /// The document as queries see it. Pending times sort after all others.
    package var document: Document {
        let latest = Timestamp(microseconds: 253_402_300_799_999_999)
        return Document(
            name: name, fields: fields(pendingTimes: .estimate(latest)), createTime: createTime ?? latest,
            updateTime: updateTime ?? latest)
    }
}
