import CivilTime

/// The description of a time zone in an iCalendar file (`VTIMEZONE`, RFC 5545), which each zone needs that
/// a time of the file names.
struct CalendarZone {
    let name: String
    let offsets: ZoneOffsets

    /// The years before and after the present one whose changes of the clocks are described.
    private static let years = 10

    /// Returns the lines of the description.
    ///
    /// - Parameter today: The day around which changes of the clocks are described.
    func lines(around today: CalendarDay) -> [String] {
        let days = Self.years * 366
        var lines = ["BEGIN:VTIMEZONE", "TZID:\(name)"]
        var time = Self.seconds(today.adding(days: -days))
        let end = Self.seconds(today.adding(days: days))
        var offset = self.offset(at: time)
        lines += observance(from: time + offset, offset, offset)
        while time < end {
            let next = time + UTCTime.secondsPerDay
            let new = self.offset(at: next)
            if new != offset {
                lines += observance(from: change(after: time, until: next, from: offset) + offset, offset, new)
            }
            (time, offset) = (next, new)
        }
        return lines + ["END:VTIMEZONE"]
    }

    /// Returns the point in time at which the offset changes.
    private func change(after start: Int64, until end: Int64, from offset: Int64) -> Int64 {
        var (low, high) = (start, end)
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if self.offset(at: middle) == offset { low = middle } else { high = middle }
        }
        return high
    }

    /// - Parameter local: The first moment on the clocks before the change.
    private func observance(from local: Int64, _ old: Int64, _ new: Int64) -> [String] {
        let kind = new > old ? "DAYLIGHT" : "STANDARD"
        return [
            "BEGIN:\(kind)", "DTSTART:\(ExchangeDate(local: local).basic)", "TZOFFSETFROM:\(Self.text(old))",
            "TZOFFSETTO:\(Self.text(new))", "END:\(kind)",
        ]
    }

    private func offset(at time: Int64) -> Int64 { offsets.local(at: time) - time }

    private static func seconds(_ day: CalendarDay) -> Int64 { Int64(day.daysSinceEpoch) * UTCTime.secondsPerDay }

    private static func text(_ offset: Int64) -> String {
        let minutes = abs(offset) / 60
        return (offset < 0 ? "-" : "+") + (minutes / 60).twoDigits + (minutes % 60).twoDigits
    }
}
