/// The rule of a time zone for years without written transitions, in the form of POSIX's TZ with the
/// extensions of RFC 9636: `CET-1CEST,M3.5.0,M10.5.0/3`.
struct TimeZoneRule: Sendable {
    private enum Day: Sendable {
        /// A day of the year from 1; 29 February is never counted.
        case julian(Int)
        /// A day of the year from 0.
        case ordinal(Int)
        /// A weekday (0 is Sunday) of the week 1 to 5 of a month; 5 is the last one.
        case weekday(month: Int, week: Int, day: Int)
    }

    private struct Change: Sendable {
        var day: Day
        /// Seconds after midnight on the clocks before the change; may be negative or above a day.
        var second: Int64
    }

    private let standard: Int64
    private let summer: (offset: Int64, start: Change, end: Change)?

    /// Parses a rule; nil for any other text.
    init?(_ text: String) {
        var rest = text[...]
        guard Self.takeName(&rest), let standard = Self.takeTime(&rest) else { return nil }
        self.standard = -standard
        guard !rest.isEmpty else {
            summer = nil
            return
        }
        guard Self.takeName(&rest) else { return nil }
        var offset = self.standard + 3600
        if rest.first != "," {
            guard let time = Self.takeTime(&rest) else { return nil }
            offset = -time
        }
        guard let start = Self.takeChange(&rest), let end = Self.takeChange(&rest), rest.isEmpty else { return nil }
        summer = (offset, start, end)
    }

    /// Returns the seconds that the zone is east of UTC at a number of seconds since 1970.
    func offset(at time: Int64) -> Int64 {
        guard let summer else { return standard }
        let day = CalendarDay(clampingDaysSinceEpoch: Int(clamping: Self.floor(time, by: 86_400)))
        // A change at the end of a year in UTC may be on a day of the next year.
        var last: (time: Int64, offset: Int64)?
        for year in (day.year - 1)...(day.year + 1) {
            guard let start = Self.time(of: summer.start, in: year, standard),
                let end = Self.time(of: summer.end, in: year, summer.offset)
            else { continue }
            for change in [(start, summer.offset), (end, standard)] where change.0 <= time {
                // Where both are at once, summer time is for the whole year: it starts last.
                if last.map({ change.0 > $0.time || change.0 == $0.time && change.1 == summer.offset }) ?? true {
                    last = change
                }
            }
        }
        return last?.offset ?? standard
    }

    // MARK: Parts

    private static func floor(_ value: Int64, by unit: Int64) -> Int64 {
        value / unit - (value % unit < 0 ? 1 : 0)
    }

    /// Returns the point in time of a change; nil outside of the calendar.
    private static func time(of change: Change, in year: Int, _ offset: Int64) -> Int64? {
        guard let first = CalendarDay(year: year, month: 1, day: 1) else { return nil }
        let days: Int
        switch change.day {
        case .ordinal(let day): days = first.daysSinceEpoch + day
        case .julian(let day):
            let isLeap = CalendarDay(year: year, month: 2, day: 29) != nil
            days = first.daysSinceEpoch + day - 1 + (isLeap && day >= 60 ? 1 : 0)
        case .weekday(let month, let week, let weekday):
            guard let start = CalendarDay(year: year, month: month, day: 1) else { return nil }
            // 1 January 1970 was a Thursday.
            let startWeekday = ((start.daysSinceEpoch + 4) % 7 + 7) % 7
            var day = 1 + (weekday - startWeekday + 7) % 7 + (week - 1) * 7
            while CalendarDay(year: year, month: month, day: day) == nil, day > 7 { day -= 7 }
            days = start.daysSinceEpoch + day - 1
        }
        return Int64(days) * 86_400 + change.second - offset
    }

    private static func takeName(_ rest: inout Substring) -> Bool {
        let count = rest.count
        if rest.first == "<" {
            guard let end = rest.firstIndex(of: ">") else { return false }
            rest = rest[rest.index(after: end)...]
        } else {
            rest = rest.drop { $0.isLetter }
        }
        return rest.count < count
    }

    private static func takeNumber(_ rest: inout Substring) -> Int? {
        let digits = rest.prefix { $0.isASCII && $0.isNumber }
        guard digits.count <= 3, let number = Int(digits) else { return nil }
        rest = rest.dropFirst(digits.count)
        return number
    }

    /// Takes `[+-]hh[:mm[:ss]]` as seconds.
    private static func takeTime(_ rest: inout Substring) -> Int64? {
        let isNegative = rest.first == "-"
        if isNegative || rest.first == "+" { rest.removeFirst() }
        guard let hours = takeNumber(&rest), hours <= 167 else { return nil }
        var seconds = hours * 3600
        for unit in [60, 1] where rest.first == ":" {
            rest.removeFirst()
            guard let number = takeNumber(&rest), number < 60 else { return nil }
            seconds += number * unit
        }
        return Int64(isNegative ? -seconds : seconds)
    }

    /// Takes `,date[/time]`.
    private static func takeChange(_ rest: inout Substring) -> Change? {
        guard rest.first == "," else { return nil }
        rest.removeFirst()
        let day: Day
        switch rest.first {
        case "M"?:
            rest.removeFirst()
            guard let month = takeNumber(&rest), (1...12).contains(month), rest.first == "." else { return nil }
            rest.removeFirst()
            guard let week = takeNumber(&rest), (1...5).contains(week), rest.first == "." else { return nil }
            rest.removeFirst()
            guard let weekday = takeNumber(&rest), weekday < 7 else { return nil }
            day = .weekday(month: month, week: week, day: weekday)
        case "J"?:
            rest.removeFirst()
            guard let number = takeNumber(&rest), (1...365).contains(number) else { return nil }
            day = .julian(number)
        default:
            guard let number = takeNumber(&rest), number < 366 else { return nil }
            day = .ordinal(number)
        }
        guard rest.first == "/" else { return Change(day: day, second: 7200) }
        rest.removeFirst()
        return takeTime(&rest).map { Change(day: day, second: $0) }
    }
}
