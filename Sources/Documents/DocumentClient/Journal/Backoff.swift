/// Waiting times between attempts: each half to all of a limit that grows by 1.5 from one second to one minute.
///
/// The values are those of the official mobile clients. Randomness comes in as a value, so that a run can be repeated.
package struct Backoff: Sendable, Hashable {
    static let first = Duration.milliseconds(500)
    static let longest = Duration.seconds(60)

    private var limit = Backoff.first
    private(set) var attempts = 0

    package init() {}

    /// The time to wait before the next attempt.
    ///
    /// - Parameters:
    ///   - random: evenly spread over 0 ..< 1.
    ///   - isOverloaded: the remote asked for patience (RESOURCE_EXHAUSTED); goes to the longest wait at once.
    package mutating func next(random: Double, isOverloaded: Bool = false) -> Duration {
        attempts += 1
        if isOverloaded { limit = Backoff.longest }
        let wait = limit * (0.5 + 0.5 * min(max(random, 0), 1))
        limit = min(limit * 1.5, Backoff.longest)
        return wait
    }

    /// After a success, or when the network changed.
    package mutating func reset() { self = Backoff() }
}
