package import JSON

/// One event of the stream `/v1/events`.
package struct ControlEvent: Sendable, Hashable {
    /// The kind of an event, which determines the type of its data.
    package enum Kind: String, Sendable {
        case status
        case task
        case transfer
        case conflict
        case delete
        case invitation
        case log
        case unknown
    }

    /// The number of the event, one more than that of the previous event. A client that reconnects
    /// sends its last one as `Last-Event-ID`.
    package var id: UInt64
    package var kind: Kind
    /// The JSON form of `DaemonStatus`, `TaskSummary`, `TransferSummary`, `ConflictSummary`,
    /// `HeldDelete`, `InvitationSummary` or `LogLine`.
    package var data: JSON

    package init(id: UInt64, kind: Kind, data: JSON) {
        self.id = id
        self.kind = kind
        self.data = data
    }
}
