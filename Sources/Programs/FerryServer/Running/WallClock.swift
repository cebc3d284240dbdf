import Glibc

/// The time of day, for what is told to clients and for the life of tokens.
enum WallClock {
    /// Since 1970.
    static func microseconds() -> Int64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
    }

    /// Since 1970.
    static func seconds() -> Int64 { Int64(time(nil)) }
}
