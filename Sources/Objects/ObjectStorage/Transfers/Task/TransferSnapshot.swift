import SystemIO

/// The state of a transfer at one moment.
public struct TransferSnapshot: Sendable {
    /// The direction of a transfer: an upload or a download.
    public enum Direction: String, Sendable { case up, down }

    /// The id of the transfer.
    public var id: TransferID
    /// The name of the file.
    public var name: String
    /// The label that the application has given to the transfer, see `UploadRequest`; empty for a
    /// transfer outside a queue.
    public var label: String
    /// The direction of the transfer.
    public var direction: Direction
    /// The state of the transfer.
    public var state: TransferState
    /// The size of the file in bytes; nil before it is known.
    public var bytesTotal: Int64?
    /// The number of bytes of the file that are in place. It never decreases.
    public var bytesDone: Int64
    /// The part of `bytesDone` that needed no transfer.
    public var bytesDeduplicated: Int64
    /// The number of bytes of objects sent or received, without protocol headers. It is more than
    /// `bytesDone` if chunks had to be sent again, and less if they were compressed or the receiver
    /// had them.
    public var bytesOnWire: Int64
    /// The rate in bytes of the file per second over the last few seconds; nil before it is known
    /// and while nothing is transferred.
    public var rate: Double?
    /// The reason why the transfer waits or has failed; nil otherwise.
    public var problem: ObjectStorageError?

    /// The estimated time until the end at the current rate; nil if it is not known.
    public var remaining: Duration? {
        guard let bytesTotal, let rate, rate > 0, state == .running else { return nil }
        let left = Double(max(0, bytesTotal.saturatingSubtracted(by: bytesDone)))
        // A longer time is meaningless and could overflow the duration.
        return .seconds(min(left / rate, 1e9))
    }

    /// The progress from 0 to 1; nil while the size is not known.
    public var fraction: Double? {
        guard let bytesTotal else { return nil }
        return bytesTotal == 0 ? (state == .done ? 1 : 0) : min(1, Double(bytesDone) / Double(bytesTotal))
    }
}
