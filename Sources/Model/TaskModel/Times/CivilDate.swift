package import CivilTime

/// A day of the proleptic Gregorian calendar in the years 1 to 9999, without a time zone.
public struct CivilDate: Sendable, Hashable, Comparable, CustomStringConvertible {
    package let calendarDay: CalendarDay

    /// The year.
    public var year: Int { calendarDay.year }
    /// The month, from 1 to 12.
    public var month: Int { calendarDay.month }
    /// The day of the month, from 1.
    public var day: Int { calendarDay.day }

    /// Creates the public form of a day.
    package init(_ day: CalendarDay) { calendarDay = day }

    /// Creates a day; nil if the calendar does not have it.
    public init?(year: Int, month: Int, day: Int) {
        guard let day = CalendarDay(year: year, month: month, day: day) else { return nil }
        calendarDay = day
    }

    /// Creates the day at a number of days after 1970-01-01; nil outside the years 1 to 9999.
    public init?(daysSinceEpoch days: Int) {
        guard let day = CalendarDay(daysSinceEpoch: days) else { return nil }
        calendarDay = day
    }

    /// Parses the form `2026-11-30`; nil for any other text and for days that the calendar does not have.
    public init?(_ text: String) {
        guard let day = CalendarDay(text) else { return nil }
        calendarDay = day
    }

    /// The number of days since 1970-01-01; negative for earlier days.
    public var daysSinceEpoch: Int { calendarDay.daysSinceEpoch }

    /// The day in the form `2026-11-30`.
    public var description: String { calendarDay.description }

    /// Orders days from earlier to later.
    public static func < (left: CivilDate, right: CivilDate) -> Bool { left.calendarDay < right.calendarDay }
}
