package import SystemIO

/// Decides which transfers of a queue run at once, which goes next, and what becomes of one that has
/// failed. Pure.
package struct TransferPolicy: Sendable {
    /// The order in which transfers of one priority start.
    package enum Order: Sendable {
        case oldestFirst
        /// Small transfers first: each waits for the answers of the network and of disks, so that
        /// many of them run beside a large one.
        case smallestFirst
    }

    /// The number of transfers that run at once whatever their sizes; at least 1.
    package var simultaneous = 4 { didSet { simultaneous = max(1, simultaneous) } }
    /// The number of transfers that run at once while their files together have no more than
    /// `smallBytes` bytes. It has no effect unless it is larger than `simultaneous`.
    package var smallSimultaneous = 0
    package var smallBytes: Int64 = 16 << 20 { didSet { smallBytes = min(max(0, smallBytes), 1 << 40) } }
    package var order = Order.oldestFirst
    /// The waits after failures.
    package var backoff = Backoff(.seconds(1) ... .seconds(60))
    /// The number of attempts after failures that are not known to pass.
    package var doubtfulAttempts = 5

    /// Creates the default policy: four transfers at once, the oldest first.
    package init() {}

    /// Returns what a transfer counts among those that run: its size, as far as that matters.
    ///
    /// - Parameter size: The size of its file; nil if it is not known, which counts as large.
    func weight(_ size: Int64?) -> Int64 { max(0, min(size ?? .max, smallBytes + 1)) }

    /// Whether a transfer may start beside `count` others, whose weights are `bytes` together.
    func admits(weight: Int64, beside count: Int, bytes: Int64) -> Bool {
        if count < simultaneous { return true }
        return count < smallSimultaneous && bytes + weight <= smallBytes
    }

    /// Whether a transfer is tried again after a failure.
    ///
    /// - Parameter failures: The number of failures in a row, this one included.
    func triesAgain(after code: ObjectStorageError.Code, failures: Int) -> Bool {
        switch code {
        case .transient, .sourceChanged, .full, .permission: true
        case .unavailable: failures < doubtfulAttempts
        default: false
        }
    }
}
