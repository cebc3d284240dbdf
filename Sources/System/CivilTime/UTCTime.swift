/// A point in time as a calendar day and a time of day in UTC, in the years 1 to 9999, with a
/// precision of microseconds and without leap seconds.
package struct UTCTime: Sendable, Hashable {
    package let day: CalendarDay
    /// The microseconds since midnight, from 0 to 86,399,999,999.
    package let microsecondOfDay: Int64

    /// The number of seconds of a day.
    package static let secondsPerDay: Int64 = 86_400
    private static let microsecondsPerDay: Int64 = 86_400_000_000
    /// The seconds of the years 1 to 9999, counted from 1970-01-01T00:00:00Z.
    private static let validSeconds: ClosedRange<Int64> = -62_135_596_800...253_402_300_799
    private static let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Creates a time from microseconds since 1970-01-01T00:00:00Z. A time outside the valid range
    /// is moved to the nearest valid one.
    package init(microseconds: Int64) {
        let least = Self.validSeconds.lowerBound * 1_000_000
        let most = Self.validSeconds.upperBound * 1_000_000 + 999_999
        let (quotient, remainder) = min(max(microseconds, least), most)
            .quotientAndRemainder(dividingBy: Self.microsecondsPerDay)
        day = CalendarDay(clampingDaysSinceEpoch: Int(remainder < 0 ? quotient - 1 : quotient))
        microsecondOfDay = remainder < 0 ? remainder + Self.microsecondsPerDay : remainder
    }

    /// Creates a time from seconds since 1970-01-01T00:00:00Z. A time outside the valid range is
    /// moved to the nearest valid one.
    package init(seconds: Int64) {
        self.init(
            microseconds: min(max(seconds, Self.validSeconds.lowerBound), Self.validSeconds.upperBound) * 1_000_000)
    }

    /// The whole seconds since 1970-01-01T00:00:00Z, rounded down.
    package var seconds: Int64 { Int64(day.daysSinceEpoch) * Self.secondsPerDay + microsecondOfDay / 1_000_000 }

    /// The microseconds since 1970-01-01T00:00:00Z.
    package var microseconds: Int64 { Int64(day.daysSinceEpoch) * Self.microsecondsPerDay + microsecondOfDay }

    /// The microseconds since the last whole second.
    package var microsecond: Int { Int(microsecondOfDay % 1_000_000) }

    private var secondOfDay: Int { Int(microsecondOfDay / 1_000_000) }
}

// MARK: - RFC 3339

extension UTCTime {
    /// The number of digits with which the fraction of a second is written.
    package enum Fraction: Sendable {
        /// None; the fraction is dropped.
        case none
        /// Three; finer parts are dropped.
        case milliseconds
        /// None, three or six: as many as the time needs, as in the JSON of protocol buffers.
        case groups
        /// The fewest that represent the time.
        case shortest
    }

    /// Returns the form `2026-11-21T12:00:00.000Z` (RFC 3339).
    ///
    /// - Parameter omitsZeroSeconds: Whether a time of a whole minute is written without seconds.
    package func rfc3339(fraction: Fraction, omitsZeroSeconds: Bool = false) -> String {
        var digits = DigitWriter()
        digits.append(day, separator: "-")
        digits.append("T")
        digits.append(clock: secondOfDay, separator: ":", omitsZeroSeconds: omitsZeroSeconds && microsecond == 0)
        digits.append(microsecond: microsecond, fraction)
        digits.append("Z")
        return digits.text
    }

    /// Parses `2026-11-21T12:00:00.25+01:00` (RFC 3339). Digits of the fraction after the sixth are
    /// dropped. Returns nil for any other text, and for a time outside the valid range.
    package init?(rfc3339 text: some StringProtocol) {
        var digits = DigitReader(text.utf8)
        guard let day = digits.day(separator: "-"), digits.take("T") || digits.take("t"),
            let second = digits.clock(separator: ":"), let fraction = digits.fraction(),
            let offset = digits.offset(), digits.isAtEnd
        else { return nil }
        self.init(day: day, second: second - offset, microsecond: fraction)
    }

    /// Creates the time `second` seconds after the start of a day. Returns nil outside the valid
    /// range.
    private init?(day: CalendarDay, second: Int, microsecond: Int = 0) {
        let seconds = Int64(day.daysSinceEpoch) * Self.secondsPerDay + Int64(second)
        guard Self.validSeconds.contains(seconds) else { return nil }
        self.init(microseconds: seconds * 1_000_000 + Int64(microsecond))
    }
}

// MARK: - Other forms

extension UTCTime {
    /// The form of header fields, `Sat, 21 Nov 2026 12:00:00 GMT` (RFC 9110, section 5.6.7,
    /// IMF-fixdate). The fraction of a second is dropped.
    package var imfFixdate: String {
        var digits = DigitWriter()
        digits.append("\(Self.days[day.weekday - 1]), ")
        digits.append(day.day, width: 2)
        digits.append(" \(Self.months[day.month - 1]) ")
        digits.append(day.year, width: 4)
        digits.append(" ")
        digits.append(clock: secondOfDay, separator: ":")
        digits.append(" GMT")
        return digits.text
    }

    /// Parses the form of header fields. The name of the weekday is not checked, the day of the
    /// month may have one digit, and the leap second 60 counts as the second after it. Returns nil
    /// for any other text.
    package init?(imfFixdate text: some StringProtocol) {
        let words = text.split(separator: " ")
        guard words.count == 6, words[5] == "GMT", let month = Self.months.firstIndex(where: { $0 == words[2] }) else {
            return nil
        }
        var (date, year, clock) = (DigitReader(words[1].utf8), DigitReader(words[3].utf8), DigitReader(words[4].utf8))
        guard let number = date.number(digits: min(words[1].utf8.count, 2)), date.isAtEnd,
            let years = year.number(digits: 4), year.isAtEnd,
            let second = clock.clock(separator: ":", allowsLeapSecond: true), clock.isAtEnd,
            let day = CalendarDay(year: years, month: month + 1, day: number)
        else { return nil }
        self.init(day: day, second: second)
    }

    /// The basic form of ISO 8601, `20261121T120000Z`, as in signatures of S3. The fraction of a
    /// second is dropped.
    package var basic: String {
        var digits = DigitWriter()
        digits.append(day, separator: "")
        digits.append("T")
        digits.append(clock: secondOfDay, separator: "")
        digits.append("Z")
        return digits.text
    }

    /// Parses the basic form of ISO 8601; the leap second 60 counts as the second after it. Returns
    /// nil for any other text.
    package init?(basic text: some StringProtocol) {
        var digits = DigitReader(text.utf8)
        guard let day = digits.day(separator: nil), digits.take("T"),
            let second = digits.clock(separator: nil, allowsLeapSecond: true), digits.take("Z"), digits.isAtEnd
        else { return nil }
        self.init(day: day, second: second)
    }
}
