/// Judges whether a client sends, or reads, at least as fast as a server wants it to.
///
/// It is told from time to time how much has been transferred. Time in which the server waits for its client uses up a
/// credit, which each byte renews: a client that stalls for longer than its credit is too slow, and so is one that goes on
/// at less than the minimum rate.
package struct TransferPace: Sendable, Hashable {
    package struct Limits: Sendable, Hashable {
        /// Bytes a second, on average.
        package var minimumRate = 1024
        /// How long a client may take for its first bytes.
        package var grace = Duration.seconds(10)
        /// How long a client may pause that was fast before.
        package var longestPause = Duration.seconds(30)

        package init() {}
    }

    private let limits: Limits
    private var credit: Duration
    private var bytes: UInt64
    private var last: ContinuousClock.Instant

    /// Begins to judge a transfer.
    /// - Parameter bytes: what has been transferred before, which is not counted.
    package init(_ limits: Limits = Limits(), bytes: UInt64 = 0, at now: ContinuousClock.Instant) {
        self.limits = limits
        credit = limits.grace
        self.bytes = bytes
        last = now
    }

    /// Takes a reading.
    ///
    /// - Parameters:
    ///   - bytes: what has been transferred in all.
    ///   - isWaiting: whether the server waits for its client now, rather than the client for the server.
    /// - Returns: false if the client is too slow.
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
