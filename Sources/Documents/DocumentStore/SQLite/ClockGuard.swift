/// What has become of a system clock that jumped, for whoever runs the server.
package enum ClockNews: Sendable, Hashable {
    /// It went this many microseconds forward. Commit times go on as if it had not, unless it stays so.
    case jumped(Int64)
    /// It is back where it was.
    case isBack
    /// It has stayed where it jumped to, and counts from now on.
    case accepted
}

/// Decides which time a store goes by when the system's clock jumps forward. Pure.
///
/// Commit times never go back, so that a clock that was in 2070 for a second would leave them there. A small jump is believed: a
/// suspended machine makes it. A larger one counts once it has lasted for an hour, and one of more than a year not before the next start,
/// which asks; see `isPlausible`. Where the clock was behind, as at the start of a machine without a battery, it may always go on to
/// where commits are already.
struct ClockGuard {
    /// In microseconds, as all times here.
    static let believed: Int64 = 31 * day
    static let confirmation: Int64 = 3_600_000_000
    static let implausible: Int64 = 366 * day
    static let day: Int64 = 86_400_000_000

    private var wall: Int64
    private var uptime: Int64
    /// Since when, by the uptime, the clock has been ahead.
    private var jumped: Int64?

    init(wall: Int64, uptime: Int64) {
        self.wall = wall
        self.uptime = uptime
    }

    /// The time to go by.
    ///
    /// - Parameters:
    ///   - wall: what the system's clock says.
    ///   - uptime: a clock that never jumps and counts while the machine is suspended.
    ///   - newest: the newest time that was given out.
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

    /// Whether a store may start whose newest commit was at `newest`.
    static func isPlausible(wall: Int64, newest: Int64) -> Bool {
        newest <= 0 || sum(wall, -newest) <= implausible
    }

    /// Whether commits are later than the clock, beyond what clocks differ by: it was ahead once.
    static func isAhead(newest: Int64, wall: Int64) -> Bool { sum(newest, -wall) > day }

    private static func sum(_ left: Int64, _ right: Int64) -> Int64 {
        let (sum, overflow) = left.addingReportingOverflow(right)
        return overflow ? (right > 0 ? .max : .min) : sum
    }
}
