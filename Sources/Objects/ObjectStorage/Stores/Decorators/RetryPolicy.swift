import SystemIO

/// The number of attempts of an operation that fails, and the delays between them.
///
/// Each delay is random between half and all of a ceiling that doubles up to a limit, so that the
/// clients of one server that was down do not return all at once.
public struct RetryPolicy: Sendable {
    /// The ceiling of the first delay.
    public let first: Duration
    /// The maximum of the ceiling.
    public let limit: Duration
    /// The maximum number of attempts, including the first.
    public let attempts: Int

    /// Creates a policy. A `limit` below `first` counts as `first`.
    public init(first: Duration = .milliseconds(200), limit: Duration = .seconds(10), attempts: Int = 6) {
        self.first = first
        self.limit = max(first, limit)
        self.attempts = max(1, attempts)
    }

    /// The attempts of one operation. Pure: the caller provides the randomness.
    struct Attempts {
        private var backoff: Backoff
        private var left: Int

        init(_ policy: RetryPolicy) {
            backoff = Backoff(policy.first...policy.limit)
            left = policy.attempts
        }

        /// Records a failure and returns how long to wait before the next attempt; nil if no attempt
        /// is left.
        ///
        /// - Parameter asked: The minimum delay that the server asks for.
        mutating func wait(asked: Duration? = nil, using generator: inout some RandomNumberGenerator) -> Duration? {
            left -= 1
            guard left > 0 else { return nil }
            return max(backoff.next(random: .random(in: 0..<1, using: &generator)), asked ?? .zero)
        }
    }
}
