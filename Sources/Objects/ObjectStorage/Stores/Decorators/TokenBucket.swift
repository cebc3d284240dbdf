/// A rate with a little credit. Pure: the caller brings the time, of any clock that does not go back.
public struct TokenBucket: Sendable {
    /// Bytes a second.
    public var rate: Double
    /// Bytes that may pass at once after a rest.
    public let burst: Double
    private var level: Double
    private var time: Duration

    public init(bytesPerSecond: Int, burst: Int? = nil, now: Duration) {
        rate = Double(max(1, bytesPerSecond))
        self.burst = Double(burst ?? max(bytesPerSecond, 1))
        level = self.burst
        time = now
    }

    /// Takes `count` bytes, going into debt if need be, and says how long to wait until the debt is paid.
    public mutating func take(_ count: Int, now: Duration) -> Duration {
        level = min(burst, level + rate * ((now - time) / .seconds(1)))
        time = now
        level -= Double(count)
        return level >= 0 ? .zero : .seconds(-level / rate)
    }
}
