package import JSON

/// One event of `/v1/events`.
package struct ControlEvent: Sendable, Hashable {
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

    /// Grows by one an event; a reconnecting client sends the last as `Last-Event-ID`.
    package var id: UInt64
    package var kind: Kind
    /// The JSON form of `DaemonStatus`, `TaskSummary`, `TransferSummary`, `ConflictSummary`, `HeldDelete`,
    /// `InvitationSummary` or `LogLine`.
    package var data: JSON

    package init(id: UInt64, kind: Kind, data: JSON) {
        self.id = id
        self.kind = kind
        self.data = data
    }
}
