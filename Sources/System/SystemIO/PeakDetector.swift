/// Decides when it is worthwhile to return free heap pages to the kernel: after the use of the heap
/// has fallen far below its peak.
///
/// The allocator keeps freed memory that lies between live allocations. Without this, a process
/// that once handled a burst of requests would stay as large as it was then.
package struct PeakDetector: Sendable {
    /// The number of bytes by which the use must fall below its peak.
    package static let fall = 16 << 20

    private var peak = 0

    package init() {}

    /// Records the number of bytes in use.
    ///
    /// - Returns: Whether the use has fallen far enough below its highest value since this last
    ///   returned true.
    package mutating func isPast(inUse: Int) -> Bool {
        guard peak - inUse >= Self.fall else {
            peak = max(peak, inUse)
            return false
        }
        peak = inUse
        return true
    }
}
