/// A notification about a jump of the system's clock, for the operator of the server.
package enum ClockNews: Sendable, Hashable {
    /// The clock jumped forward by this number of microseconds. Commit times continue as if it had
    /// not, unless the jump lasts.
    case jumped(Int64)
    /// The clock has returned to its former time.
    case isBack
    /// The clock has stayed at its new time, which counts from now on.
    case accepted
}

/// Decides which time a store uses when the system's clock jumps forward. A pure value.
///
/// Commit times never go back, so a clock that showed 2070 for a second would leave them there. A
/// small jump is believed, because a suspended machine causes it. A larger one counts once it has
/// lasted for an hour. One of more than a year counts only after a restart, which asks the
/// operator; see `isPlausible`. A clock that was behind, as at the start of a machine without a
/// battery, may always advance to the newest commit time.
struct ClockGuard {
    /// The largest jump that is believed. All times are in microseconds.
    static let believed: Int64 = 31 * day
    static let confirmation: Int64 = 3_600_000_000
    static let implausible: Int64 = 366 * day
    static let day: Int64 = 86_400_000_000

    private var wall: Int64
    private var uptime: Int64
    /// The uptime since which the clock has been ahead.
    private var jumped: Int64?

    init(wall: Int64, uptime: Int64) {
        self.wall = wall
        self.uptime = uptime
    }

    /// Returns the time to use.
    ///
    /// - Parameters:
    ///   - wall: the system clock's time.
    ///   - uptime: the time of a clock that never jumps and continues while the machine is
    ///     suspended.
    ///   - newest: the newest time that was assigned.
    mutating func time(wall now: Int64, uptime: Int64, newest: Int64) -> (time: Int64, news: ClockNews?) {
        let expected = Self.sum(wall, max(0, Self.sum(uptime, -self.uptime)))
        let jump = Self.sum(now, -max(expected, newest))
        guard jump > Self.believed else {
            let wasAhead = jumped != nil
            (self.wall, self.uptime, jumped) = (now, uptime, nil)
            return (now, wasAhead ? .isBack : nil)
        }
        guard let since = jumped else {
            jumped = uptime
            return (expected, .jumped(jump))
        }
        guard jump <= Self.implausible, uptime - since >= Self.confirmation else { return (expected, nil) }
        (self.wall, self.uptime, jumped) = (now, uptime, nil)
        return (now, .accepted)
    }

    /// Whether a store whose newest commit was at `newest` may start.
    static func isPlausible(wall: Int64, newest: Int64) -> Bool {
        newest <= 0 || sum(wall, -newest) <= implausible
    }

    /// Whether commits are later than the clock by more than clocks usually differ, because the
    /// clock was ahead once.
    static func isAhead(newest: Int64, wall: Int64) -> Bool { sum(newest, -wall) > day }

    private static func sum(_ left: Int64, _ right: Int64) -> Int64 {
        let (sum, overflow) = left.addingReportingOverflow(right)
        return overflow ? (right > 0 ? .max : .min) : sum
    }
}
