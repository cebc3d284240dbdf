/// Decides when free pages of the heap are worth giving back: after much of it was in use that no longer is.
///
/// The allocator keeps what is freed between allocations that live on, so a process that has once answered a flood would stay
/// as large as it was then.
package struct PeakDetector: Sendable {
    /// By how many bytes the use has to fall.
    package static let fall = 16 << 20

    private var peak = 0

    package init() {}

    /// Takes a reading.
    /// - Returns: whether the use has fallen far enough below its highest value since this was last true.
    package mutating func isPast(inUse: Int) -> Bool {
        guard peak - inUse >= Self.fall else {
            peak = max(peak, inUse)
            return false
        }
        peak = inUse
        return true
    }
}
