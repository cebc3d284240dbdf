/// The waiting times between attempts: each is between half of a limit and the limit, which grows
/// by a factor of 1.5 from half a second to one minute.
///
/// The values are those of the official mobile clients. Randomness is passed in as a value, so that
/// a run can be repeated.
package struct Backoff: Sendable, Hashable {
    static let first = Duration.milliseconds(500)
    static let longest = Duration.seconds(60)

    private var limit = Backoff.first
    private(set) var attempts = 0

    package init() {}

    /// Returns the time to wait before the next attempt.
    ///
    /// - Parameters:
    ///   - random: a number uniformly distributed over 0 ..< 1.
    ///   - isOverloaded: whether the remote asked to wait (RESOURCE_EXHAUSTED). The longest waiting
    ///     time is then used immediately.
    package mutating func next(random: Double, isOverloaded: Bool = false) -> Duration {
        attempts += 1
        if isOverloaded { limit = Backoff.longest }
        let wait = limit * (0.5 + 0.5 * min(max(random, 0), 1))
        limit = min(limit * 1.5, Backoff.longest)
        return wait
    }

    /// Resets the waiting time, after a success or when the network changed.
    package mutating func reset() { self = Backoff() }
}
