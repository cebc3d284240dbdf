/// The delays between retries. Each delay is random between half and all of a ceiling that doubles
/// up to a limit, so that the clients of one server that was down do not return all at once. Pure:
/// the caller provides the randomness.
public struct Backoff: Sendable {
    /// The ceiling of the first delay.
    public let first: Duration
    /// The maximum of the ceiling.
    public let limit: Duration
    /// The maximum number of attempts, including the first.
    public let attempts: Int
    private var failures = 0

    /// Creates a backoff without failures.
    public init(first: Duration = .milliseconds(200), limit: Duration = .seconds(10), attempts: Int = 6) {
        self.first = first
        self.limit = limit
        self.attempts = max(1, attempts)
    }

    /// Records a failure and returns how long to wait before the next attempt; nil if no attempt is
    /// left.
    ///
    /// - Parameter asked: The minimum delay that the server asks for.
    public mutating func wait(
        asked: Duration? = nil, using generator: inout some RandomNumberGenerator
    ) -> Duration? {
        failures += 1
        guard failures < attempts else { return nil }
        let ceiling = min(limit, first * (1 << min(failures - 1, 20)))
        let drawn = ceiling * Double.random(in: 0.5...1, using: &generator)
        return max(drawn, asked ?? .zero)
    }

    /// Forgets the failures, for the next operation.
    public mutating func reset() { failures = 0 }
}
