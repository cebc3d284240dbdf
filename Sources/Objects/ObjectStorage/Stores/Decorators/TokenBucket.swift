/// A rate limit with some credit. Pure: the caller provides the time, from any monotonic clock.
public struct TokenBucket: Sendable {
    /// The rate in bytes per second.
    public var rate: Double
    /// The credit in bytes that a rest restores at most.
    public let burst: Double
    private var level: Double
    private var time: Duration

    /// Creates a bucket with full credit. The default of `burst` is the bytes of one second.
    public init(bytesPerSecond: Int, burst: Int? = nil, now: Duration) {
        rate = Double(max(1, bytesPerSecond))
        self.burst = Double(burst ?? max(bytesPerSecond, 1))
        level = self.burst
        time = now
    }

    /// Takes `count` bytes, if necessary on debt. Returns how long to wait until the debt is paid.
    public mutating func take(_ count: Int, now: Duration) -> Duration {
        level = min(burst, level + rate * ((now - time) / .seconds(1)))
        time = now
        level -= Double(count)
        return level >= 0 ? .zero : .seconds(-level / rate)
    }
}
