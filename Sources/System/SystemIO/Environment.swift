import CLinux
import Glibc
import Synchronization

/// The machine that a component runs on, apart from files and networks: time, randomness and an
/// executor.
///
/// They are passed in as one value, so that tests can replace all three and repeat a run exactly.
package struct Environment: Sendable {
    /// Returns the time of a monotonic clock that continues while the machine sleeps. Only
    /// differences between readings are meaningful.
    package var now: @Sendable () -> Duration
    /// Returns when `now` has reached the given time. Throws CancellationError as soon as the task
    /// is cancelled.
    package var sleepUntil: @Sendable (Duration) async throws -> Void
    /// Returns the local clock in milliseconds since 1970. It may be wrong, so it is used for
    /// display only.
    package var wallClock: @Sendable () -> Int64
    /// Returns 64 unpredictable bits.
    package var random: @Sendable () -> UInt64
    /// Returns an executor for an actor that blocks; called once for each actor. If nil, such an
    /// actor gets a thread of its own.
    package var executor: (@Sendable () -> any SerialExecutor)?

    package init(
        now: @escaping @Sendable () -> Duration, sleepUntil: @escaping @Sendable (Duration) async throws -> Void,
        wallClock: @escaping @Sendable () -> Int64, random: @escaping @Sendable () -> UInt64,
        executor: (@Sendable () -> any SerialExecutor)? = nil
    ) {
        self.now = now
        self.sleepUntil = sleepUntil
        self.wallClock = wallClock
        self.random = random
        self.executor = executor
    }

    /// The clocks and the random source of this machine.
    package static let system = Environment(
        now: { ContinuousClock.now - start },
        sleepUntil: { try await Task.sleep(until: start + $0, tolerance: .zero, clock: .continuous) },
        wallClock: {
            var time = timespec()
            clock_gettime(CLOCK_REALTIME, &time)
            return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
        },
        random: { pool.withLock { $0.next() } })

    private static let pool = Mutex(RandomPool())

    private static let start = ContinuousClock.now

    package func sleep(for duration: Duration) async throws { try await sleepUntil(now() + duration) }

    /// A random number, uniformly distributed over 0 ..< 1.
    package var fraction: Double {
        var generator = self
        return Double.random(in: 0..<1, using: &generator)
    }
}

extension Environment: RandomNumberGenerator {
    package func next() -> UInt64 { random() }
}
