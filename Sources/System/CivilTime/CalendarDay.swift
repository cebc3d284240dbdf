/// A day of the proleptic Gregorian calendar in the years 1 to 9999, without a time zone.
package struct CalendarDay: Sendable, Hashable, Comparable, CustomStringConvertible {
    package let year: Int
    /// The month, from 1 to 12.
    package let month: Int
    /// The day of the month, from 1.
    package let day: Int

    /// The days of the years 1 to 9999, counted from 1970-01-01.
    private static let validDays = -719_162...2_932_896

    /// Creates a day. Returns nil if the calendar does not have it.
    package init?(year: Int, month: Int, day: Int) {
        guard (1...9999).contains(year), (1...12).contains(month), day >= 1, day <= Self.days(in: month, of: year)
        else {
            return nil
        }
        self.year = year
        self.month = month
        self.day = day
    }

    /// Creates the day at a number of days after 1970-01-01. A day outside the valid range is moved
    /// to the nearest valid one.
    package init(clampingDaysSinceEpoch days: Int) {
        // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days: eras of
        // 400 years that start in March, so that the leap day is the last day of its year.
        let shifted = min(max(days, Self.validDays.lowerBound), Self.validDays.upperBound) + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// Creates the day at a number of days after 1970-01-01. Returns nil outside the years 1 to 9999.
    package init?(daysSinceEpoch days: Int) {
        guard Self.validDays.contains(days) else { return nil }
        self.init(clampingDaysSinceEpoch: days)
    }

    /// Parses the form `2026-11-30`. Returns nil for any other text and for days that the calendar
    /// does not have.
    package init?(_ text: some StringProtocol) {
        var digits = DigitReader(text.utf8)
        guard let day = digits.day(separator: "-"), digits.isAtEnd else { return nil }
        self = day
    }

    /// The number of days since 1970-01-01; negative for earlier days.
    package var daysSinceEpoch: Int {
        // days_from_civil of the same source.
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = shiftedYear / 400
        let yearOfEra = shiftedYear % 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// The day of the week: 1 for Monday to 7 for Sunday, as in ISO 8601.
    package var weekday: Int { ((daysSinceEpoch + 3) % 7 + 7) % 7 + 1 }

    /// Returns the day `count` days later. A day outside the valid range is moved to the nearest
    /// valid one.
    package func adding(days count: Int) -> CalendarDay {
        let (sum, isTooLarge) = daysSinceEpoch.addingReportingOverflow(count)
        return CalendarDay(clampingDaysSinceEpoch: isTooLarge ? (count < 0 ? .min : .max) : sum)
    }

    /// The day in the form `2026-11-30`.
    package var description: String {
        var digits = DigitWriter()
        digits.append(self, separator: "-")
        return digits.text
    }

    package static func < (left: CalendarDay, right: CalendarDay) -> Bool {
        (left.year, left.month, left.day) < (right.year, right.month, right.day)
    }

    fileprivate static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

// MARK: - Parts of months and years

extension CalendarDay {
    /// The number of days of this day's month.
    package var daysInMonth: Int { Self.days(in: month, of: year) }

    /// Whether this day's year has 366 days.
    package var isInLeapYear: Bool { Self.days(in: 2, of: year) == 29 }

    /// The position in the year, from 1 to 366.
    package var dayOfYear: Int { daysSinceEpoch - Self.daysBefore(year: year) }

    /// Returns the number of the week that contains this day, and the number of weeks of the year
    /// to which that week belongs. As in ISO 8601, week 1 is the first one with at least four days
    /// in the year; weeks start on `weekStart`, 1 for Monday to 7 for Sunday.
    package func week(startingOn weekStart: Int) -> (number: Int, count: Int) {
        var year = year
        var first = Self.firstWeek(of: year, weekStart)
        var next = Self.firstWeek(of: year + 1, weekStart)
        if daysSinceEpoch < first {
            year -= 1
            (first, next) = (Self.firstWeek(of: year, weekStart), first)
        } else if daysSinceEpoch >= next {
            (first, next) = (next, Self.firstWeek(of: year + 2, weekStart))
        }
        return ((daysSinceEpoch - first) / 7 + 1, (next - first) / 7)
    }

    /// Returns the number of days from 1970-01-01 to the day before a year. The year may be outside
    /// the valid range by a few.
    private static func daysBefore(year: Int) -> Int {
        let years = year + 399
        return years * 365 + years / 4 - years / 100 + years / 400 - 719_163 - 146_097
    }

    /// Returns the first day of week 1 of a year, as days since 1970-01-01.
    private static func firstWeek(of year: Int, _ weekStart: Int) -> Int {
        // Week 1 contains 4 January.
        let fourth = daysBefore(year: year) + 4
        let weekday = ((fourth + 3) % 7 + 7) % 7 + 1
        return fourth - (weekday - weekStart + 7) % 7
    }
}
