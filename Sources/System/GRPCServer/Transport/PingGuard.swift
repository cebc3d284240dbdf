/// A counter of pings that come too often. Pings that may answer data, with which clients measure
/// the network, do not count.
struct PingGuard {
    let interval: Duration
    private var last: ContinuousClock.Instant?
    private var strikes = 0

    private static let limit = 2

    init(interval: Duration) { self.interval = interval }

    /// Resets the count, because something was sent that a client may answer with a ping.
    mutating func forgive() {
        last = nil
        strikes = 0
    }

    /// Whether the client may stay connected after a ping at this time.
    mutating func isTolerated(at now: ContinuousClock.Instant) -> Bool {
        defer { last = now }
        guard let last, now - last < interval else { return true }
        strikes += 1
        return strikes <= Self.limit
    }
}
