/// When to try again: each wait is drawn between half and all of a ceiling that doubles up to a limit, so that many
/// clients of one server that was down do not come back in step. Pure: the caller brings the randomness.
public struct Backoff: Sendable {
    public let first: Duration
    public let limit: Duration
    /// Tries in all, the first one included.
    public let attempts: Int
    private var failures = 0

    public init(first: Duration = .milliseconds(200), limit: Duration = .seconds(10), attempts: Int = 6) {
        self.first = first
        self.limit = limit
        self.attempts = max(1, attempts)
    }

    /// How long to wait after one more failure; nil when it was the last one allowed. `asked` is what the other side
    /// wants at least.
    public mutating func wait(
        asked: Duration? = nil, using generator: inout some RandomNumberGenerator
    ) -> Duration? {
        failures += 1
        guard failures < attempts else { return nil }
        let ceiling = min(limit, first * (1 << min(failures - 1, 20)))
        let drawn = ceiling * Double.random(in: 0.5...1, using: &generator)
        return max(drawn, asked ?? .zero)
    }

    public mutating func reset() { failures = 0 }
}
