/// The waiting times between attempts that fail. Each is random around a ceiling that grows by a
/// factor up to a limit, so that the clients of a server that was down do not return all at once.
///
/// A pure value: randomness is passed in, so that a run can be repeated.
package struct Backoff: Sendable, Hashable {
    /// The first ceiling and the largest one.
    package let ceilings: ClosedRange<Duration>
    /// The factor by which the ceiling grows with each failure.
    package let growth: Double
    /// The smallest and the largest waiting time, as fractions of the ceiling.
    package let spread: ClosedRange<Double>

    private var ceiling: Duration

    /// Creates a backoff without failures.
    package init(_ ceilings: ClosedRange<Duration>, growth: Double = 2, spread: ClosedRange<Double> = 0.5...1) {
        self.ceilings = ceilings
        self.growth = growth
        self.spread = spread
        ceiling = ceilings.lowerBound
    }

    /// Half a second to one minute, growing by a factor of 1.5: the values of the official mobile
    /// clients of Firestore.
    package static let firestore = Backoff(.milliseconds(500) ... .seconds(60), growth: 1.5)

    /// Records a failure and returns the time to wait before the next attempt.
    ///
    /// - Parameters:
    ///   - random: a number uniformly distributed over 0 ..< 1.
    ///   - isOverloaded: whether the other side asked to wait. The longest waiting time is then used
    ///     immediately.
    package mutating func next(random: Double, isOverloaded: Bool = false) -> Duration {
        if isOverloaded { ceiling = ceilings.upperBound }
        let wait = ceiling * (spread.lowerBound + (spread.upperBound - spread.lowerBound) * min(max(random, 0), 1))
        ceiling = min(ceiling * growth, ceilings.upperBound)
        return wait
    }

    /// Forgets the failures, after a success or when the network changed.
    package mutating func reset() { ceiling = ceilings.lowerBound }
}
