import CLinux
import Glibc
import Synchronization

/// What a component takes from its machine besides files and networks: time, chance, and a place to run.
///
/// They come in as one value, so that the same code also runs where all three are made up and a run can be repeated.
package struct Surroundings: Sendable {
    /// On a clock that never goes back and goes on while the machine sleeps. Its start means nothing.
    package var now: @Sendable () -> Duration
    /// Returns at that time of `now`; throws CancellationError as soon as the task is cancelled.
    package var sleepUntil: @Sendable (Duration) async throws -> Void
    /// The local clock in milliseconds since 1970. It may say anything, so it is only ever shown.
    package var wallClock: @Sendable () -> Int64
    /// 64 unpredictable bits.
    package var random: @Sendable () -> UInt64
    /// Where an actor that blocks runs, asked once for each; nil: on a thread of its own.
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

    /// The real ones.
    package static let system = Surroundings(
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

    /// Evenly spread over 0 ..< 1.
    package var fraction: Double {
        var generator = self
        return Double.random(in: 0..<1, using: &generator)
    }
}

extension Surroundings: RandomNumberGenerator {
    package func next() -> UInt64 { random() }
}
