import Glibc

/// The system's time, for times that clients see and for the lifetimes of tokens.
package enum WallClock {
    /// Returns the microseconds since 1970.
    package static func microseconds() -> Int64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
    }

    /// Returns the seconds since 1970.
    package static func seconds() -> Int64 { Int64(time(nil)) }
}
