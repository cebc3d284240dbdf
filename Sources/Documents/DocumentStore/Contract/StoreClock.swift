import Glibc

/// The clocks of this machine in microseconds, for the configuration of a store.
package enum StoreClock {
    /// Returns the time since 1970.
    package static let system: @Sendable () -> Int64 = { microseconds(CLOCK_REALTIME) }

    /// Returns the time of a clock that continues while the machine is suspended and never jumps.
    package static let uptime: @Sendable () -> Int64 = { microseconds(CLOCK_BOOTTIME) }

    private static func microseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }
}
