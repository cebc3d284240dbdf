package import JSON

/// An upload or download of an attachment.
package struct TransferSummary: JSONCodable, Hashable {
    package enum Direction: String, Sendable {
        case upload
        case download
        case unknown
    }

    package enum State: String, Sendable {
        case queued
        case running
        case paused
        /// The transfer has failed for now and is retried automatically; `reason` tells why.
        case waiting
        case done
        case failed
        case cancelled
        case unknown
    }

    package var id: String
    package var direction: Direction
    package var state: State
    package var taskID: String
    package var name: String
    package var bytesDone: Int64
    package var bytesTotal: Int64
    /// The part of `bytesDone` that the store had already.
    package var bytesDeduplicated: Int64
    /// The number of compressed bytes that were sent over the network.
    package var bytesOnWire: Int64
    /// The rate in bytes per second over the last few seconds; nil while it is not known.
    package var rate: Double?
    package var reason: String?

    package init(
        id: String, direction: Direction, state: State, taskID: String, name: String, bytesDone: Int64 = 0,
        bytesTotal: Int64 = 0, bytesDeduplicated: Int64 = 0, bytesOnWire: Int64 = 0, rate: Double? = nil,
        reason: String? = nil
    ) {
        self.id = id
        self.direction = direction
        self.state = state
        self.taskID = taskID
        self.name = name
        self.bytesDone = bytesDone
        self.bytesTotal = bytesTotal
        self.bytesDeduplicated = bytesDeduplicated
        self.bytesOnWire = bytesOnWire
        self.rate = rate
        self.reason = reason
    }

    package init(json: JSON) throws(ControlError) {
        self.init(
            id: try json.string("id"), direction: json.choice("direction", unknown: .unknown),
            state: json.choice("state", unknown: .unknown), taskID: json["taskId"]?.stringValue ?? "",
            name: try json.string("name"), bytesDone: try json.integer("bytesDone"),
            bytesTotal: try json.integer("bytesTotal"), bytesDeduplicated: json["bytesDeduplicated"]?.integerValue ?? 0,
            bytesOnWire: json["bytesOnWire"]?.integerValue ?? 0, rate: json["rate"]?.doubleValue,
            reason: json["reason"]?.stringValue)
    }

    package var json: JSON {
        .members(
            ("id", id.asJSON), ("direction", direction.rawValue.asJSON), ("state", state.rawValue.asJSON),
            ("taskId", taskID.asJSON), ("name", name.asJSON), ("bytesDone", bytesDone.asJSON),
            ("bytesTotal", bytesTotal.asJSON), ("bytesDeduplicated", bytesDeduplicated.asJSON),
            ("bytesOnWire", bytesOnWire.asJSON), ("rate", rate?.asJSON), ("reason", reason?.asJSON))
    }

    /// Whether the transfer has ended.
    package var isOver: Bool { state == .done || state == .failed || state == .cancelled }
}
