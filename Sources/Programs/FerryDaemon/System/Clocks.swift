import Glibc

/// The clocks of this machine.
enum Clocks {
    /// Returns the seconds since 1970 by the clock that the user sets. For display only.
    static func wallSeconds() -> Int64 { Int64(time(nil)) }

    /// Returns the milliseconds since 1970 by the clock that the user sets. For display only.
    static func wallMilliseconds() -> Int64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }

    /// Returns the time for which this machine has slept since it was booted, in milliseconds: the
    /// difference between a clock that includes sleep and one that does not.
    static func sleptMilliseconds() -> Int64 { milliseconds(CLOCK_BOOTTIME) - milliseconds(CLOCK_MONOTONIC) }

    private static func milliseconds(_ clock: Int32) -> Int64 {
        var now = timespec()
        clock_gettime(clock, &now)
        return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }
}
