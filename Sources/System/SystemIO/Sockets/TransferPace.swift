/// Judges whether a client sends or reads at least as fast as the server requires.
///
/// The caller reports the number of transferred bytes from time to time. Time during which the
/// server waits for the client uses up a credit, which each byte renews. A client that stalls for
/// longer than its credit is too slow, and so is one that continues below the minimum rate.
package struct TransferPace: Sendable, Hashable {
    package struct Limits: Sendable, Hashable {
        /// The minimum average rate in bytes per second.
        package var minimumRate = 1024
        /// The time that a client has for its first bytes.
        package var grace = Duration.seconds(10)
        /// The longest pause allowed to a client that was fast before.
        package var longestPause = Duration.seconds(30)

        package init() {}
    }

    private let limits: Limits
    private var credit: Duration
    private var bytes: UInt64
    private var last: ContinuousClock.Instant

    /// Starts judging a transfer.
    ///
    /// - Parameter bytes: the number of bytes transferred before, which are not counted.
    package init(_ limits: Limits = Limits(), bytes: UInt64 = 0, at now: ContinuousClock.Instant) {
        self.limits = limits
        credit = limits.grace
        self.bytes = bytes
        last = now
    }

    /// Reports progress.
    ///
    /// - Parameters:
    ///   - bytes: the total number of bytes transferred.
    ///   - isWaiting: whether the server is waiting for the client, rather than the client for the
    ///     server.
    /// - Returns: False if the client is too slow.
    package mutating func keepsUp(
        bytes: UInt64, isWaiting: Bool, at now: ContinuousClock.Instant
    ) -> Bool {
        let new = bytes > self.bytes ? bytes - self.bytes : 0
        let elapsed = now - last
        self.bytes = max(bytes, self.bytes)
        last = max(last, now)
        if isWaiting { credit -= elapsed }
        let earned = Double(min(new, 1 << 30)) / Double(max(1, limits.minimumRate))
        credit = min(credit + .seconds(earned), limits.longestPause)
        return credit > .zero
    }
}
