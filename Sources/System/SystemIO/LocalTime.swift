package import CivilTime
import Glibc

/// A point in time as clocks on the wall show it in the time zone of this machine.
package struct LocalTime: Sendable {
    package let day: CalendarDay
    package let hour: Int
    package let minute: Int
    package let second: Int
    /// The seconds that the time zone is east of UTC at this time.
    package let offset: Int

    /// Creates the local time of `seconds` since 1970. Returns nil outside the years 1 to 9999.
    package init?(seconds: Int64) {
        var time = time_t(seconds)
        var parts = tm()
        guard localtime_r(&time, &parts) != nil,
            let day = CalendarDay(
                year: Int(parts.tm_year) + 1900, month: Int(parts.tm_mon) + 1, day: Int(parts.tm_mday))
        else { return nil }
        self.day = day
        (hour, minute, second) = (Int(parts.tm_hour), Int(parts.tm_min), Int(parts.tm_sec))
        offset = parts.tm_gmtoff
    }

    /// Returns the seconds since 1970 at a time of day in the time zone of this machine; nil if the
    /// system cannot tell. A time that the clocks skip is as much later as they skip, and of one that
    /// they show twice either is returned.
    package static func seconds(on day: CalendarDay, second: Int) -> Int64? {
        var parts = tm()
        parts.tm_year = Int32(clamping: day.year - 1900)
        parts.tm_mon = Int32(clamping: day.month - 1)
        parts.tm_mday = Int32(clamping: day.day)
        parts.tm_sec = Int32(clamping: second)
        parts.tm_isdst = -1
        let time = mktime(&parts)
        return time == -1 ? nil : Int64(time)
    }

    /// The local time in the form `2026-11-21T21:31:05+01:00` (RFC 3339); `Z` if the time zone is
    /// UTC.
    package var rfc3339: String {
        let minutes = offset / 60
        let zone =
            minutes == 0
            ? "Z" : "\(minutes < 0 ? "-" : "+")\((abs(minutes) / 60).twoDigits):\((abs(minutes) % 60).twoDigits)"
        return "\(day)T\(hour.twoDigits):\(minute.twoDigits):\(second.twoDigits)\(zone)"
    }
}

extension CalendarDay {
    /// Creates the day that clocks on the wall show in the time zone of this machine; in UTC if the
    /// machine does not know its time zone.
    ///
    /// - Parameter seconds: Seconds since 1970.
    package init(localAt seconds: Int64) {
        self = LocalTime(seconds: seconds)?.day ?? UTCTime(seconds: seconds).day
    }
}
