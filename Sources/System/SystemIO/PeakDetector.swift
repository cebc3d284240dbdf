/// Decides when it is worthwhile to return free heap pages to the kernel: when the process has many
/// more pages than its allocations need.
///
/// The allocator keeps freed memory that lies between live allocations. Without this, a process
/// that once handled a burst of requests would stay as large as it was then. What is compared is the
/// memory that the process has now, as a burst may begin and end between two looks.
package struct PeakDetector: Sendable {
    /// The number of resident bytes beyond those in use that cause a trim, counted from what an
    /// earlier trim had to leave.
    package static let excess = 16 << 20

    /// The smallest number of resident bytes beyond those in use since the last trim.
    private var least: Int?

    package init() {}

    /// Records the numbers of bytes in use and resident.
    ///
    /// - Returns: Whether free pages should be returned now.
    package mutating func isPast(inUse: Int, resident: Int) -> Bool {
        let beyond = max(0, resident.saturatingSubtracted(by: inUse))
        guard let least, beyond - least >= Self.excess else {
            self.least = min(least ?? beyond, beyond)
            return false
        }
        // The next call records what the trim has left.
        self.least = nil
        return true
    }
}
