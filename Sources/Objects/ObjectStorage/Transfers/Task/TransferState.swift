/// Where a transfer stands.
public enum TransferState: Hashable, Sendable {
    /// Made, and not started.
    case ready
    /// Waits for its turn.
    case queued
    case running
    /// Asked to pause, stop or cancel; what is under way is being given up. Lasts less than a second.
    case stopping
    /// Until somebody resumes it.
    case paused
    /// Failed for a passing reason and tries again by itself.
    case waiting
    case done
    case failed
    case cancelled

    /// Whether nothing will follow.
    public var isFinal: Bool { self == .done || self == .failed || self == .cancelled }
}
