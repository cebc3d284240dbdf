import SystemIO

/// A transfer at one moment.
public struct TransferSnapshot: Sendable {
    public enum Direction: String, Sendable { case up, down }

    public var id: TransferID
    public var name: String
    /// What its owner knows it by, see `UploadRequest`; empty for a transfer of its own.
    public var label: String
    public var direction: Direction
    public var state: TransferState
    /// Of the file; nil before it is known.
    public var bytesTotal: Int64?
    /// Of the file, in place. Never goes back.
    public var bytesDone: Int64
    /// Of `bytesDone`, how many needed no transfer.
    public var bytesDeduplicated: Int64
    /// Of objects sent or received, headers of the protocol not counted; more than `bytesDone` where chunks had to be
    /// sent again, less where they were compressed or known.
    public var bytesOnWire: Int64
    /// Bytes of the file a second over the last few seconds; nil before it is known and while nothing moves.
    public var rate: Double?
    /// Why it waits or has failed.
    public var problem: ObjectStorageError?

    /// How long the rest takes at the present rate.
    public var remaining: Duration? {
        guard let bytesTotal, let rate, rate > 0, state == .running else { return nil }
        let left = Double(max(0, bytesTotal.saturatingSubtracted(by: bytesDone)))
        // Beyond this it says nothing, and a duration has an end.
        return .seconds(min(left / rate, 1e9))
    }

    /// From 0 to 1; nil while the size is not known.
    public var fraction: Double? {
        guard let bytesTotal else { return nil }
        return bytesTotal == 0 ? (state == .done ? 1 : 0) : min(1, Double(bytesDone) / Double(bytesTotal))
    }
}
