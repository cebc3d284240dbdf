import Glibc

/// The clocks of this machine.
enum Clocks {
    /// Seconds since 1970, as the user set them; for showing only.
    static func wallSeconds() -> Int64 { Int64(time(nil)) }

    /// Milliseconds since 1970, as the user set them; for showing only.
    static func wallMilliseconds() -> Int64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }

    /// How long this machine has slept since it was booted, in milliseconds: what one clock counts
    /// and the other does not.
    static func sleptMilliseconds() -> Int64 { milliseconds(CLOCK_BOOTTIME) - milliseconds(CLOCK_MONOTONIC) }

    private static func milliseconds(_ clock: Int32) -> Int64 {
        var now = timespec()
        clock_gettime(clock, &now)
        return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }
}
