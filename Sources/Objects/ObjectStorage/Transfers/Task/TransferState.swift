/// The state of a transfer.
public enum TransferState: Hashable, Sendable {
    /// The transfer is created but not started.
    case ready
    /// The transfer waits for its turn.
    case queued
    /// The transfer is in progress.
    case running
    /// The transfer is being paused, stopped or cancelled. This takes less than a second.
    case stopping
    /// The transfer is paused until it is resumed.
    case paused
    /// The transfer failed for a reason that may pass, and will be attempted again.
    case waiting
    /// The transfer is complete.
    case done
    /// The transfer failed permanently.
    case failed
    /// The transfer was cancelled.
    case cancelled

    /// Whether the state is the last one.
    public var isFinal: Bool { self == .done || self == .failed || self == .cancelled }
}
