package import CivilTime

/// The days of a recurrence rule from its start, in order.
///
/// A day is produced if it matches all parts of the rule. Parts that are missing are taken from the
/// start (RFC 5545, section 3.3.10): a weekly rule without `BYDAY` repeats on the weekday of the
/// start. Days that the calendar does not have, such as 31 April, are skipped, not moved. A start
/// that does not match the rule is not an occurrence. Positions of `BYSETPOS` count all days of a
/// period, including those before the start. `UNTIL` is compared by day; a time of day is up to
/// the caller.
///
/// Iteration ends at the year 9999, at `COUNT` or `UNTIL`, and after a number of periods without a
/// day in which the calendar repeats itself.
package struct RecurrenceDays: Sequence, IteratorProtocol {
    private let rule: RecurrenceRule
    private let start: CalendarDay
    private let weekdays: Set<Int>
    private let monthDays: [Int]
    private let months: [Int]
    private var period = 0
    private var emptyPeriods = 0
    private var count = 0
    /// The days of the current period that are still to be returned, last first.
    private var days: [CalendarDay] = []
    private var isOver = false

    package init(_ rule: RecurrenceRule, from start: CalendarDay) {
        self.rule = rule
        self.start = start
        var weekdays = Set(rule.weekdays.filter { $0.ordinal == nil }.map(\.number))
        var (monthDays, months) = (rule.monthDays, rule.months)
        if rule.weekdays.isEmpty, rule.monthDays.isEmpty, rule.yearDays.isEmpty {
            switch rule.frequency {
            case .daily: break
            case .weekly: weekdays = [start.weekday]
            case .monthly: monthDays = [start.day]
            case .yearly where !rule.weekNumbers.isEmpty: weekdays = [start.weekday]
            case .yearly:
                monthDays = [start.day]
                if months.isEmpty { months = [start.month] }
            }
        }
        (self.weekdays, self.monthDays, self.months) = (weekdays, monthDays, months)
    }

    package mutating func next() -> CalendarDay? {
        while !isOver {
            if let day = days.popLast() {
                if let count = rule.count, self.count >= count { break }
                if let until = rule.until, day > until.day { break }
                count += 1
                return day
            }
            guard let found = daysOfPeriod() else { break }
            emptyPeriods = found.isEmpty ? emptyPeriods + 1 : 0
            guard emptyPeriods <= Self.emptyLimit(rule.frequency) else { break }
            period += 1
            days = found.filter { $0 >= start }.reversed()
        }
        isOver = true
        return nil
    }

    /// Skips the periods that end before `day`, unless occurrences have to be counted.
    package mutating func skip(before day: CalendarDay) {
        guard rule.count == nil, days.isEmpty, day > start else { return }
        let distance =
            switch rule.frequency {
            case .daily: day.daysSinceEpoch - start.daysSinceEpoch
            case .weekly: (day.daysSinceEpoch - start.daysSinceEpoch) / 7 - 1
            case .monthly: (day.year - start.year) * 12 + day.month - start.month
            case .yearly: day.year - start.year
            }
        period = Swift.max(period, distance / rule.interval)
    }

    /// The number of periods after which a rule without a day will never have one: 400 years, after
    /// which the calendar repeats.
    private static func emptyLimit(_ frequency: RecurrenceRule.Frequency) -> Int {
        switch frequency {
        case .daily: 146_097
        case .weekly: 20_871
        case .monthly: 4800
        case .yearly: 400
        }
    }

    /// Returns the matching days of the current period in order; nil after the year 9999.
    private func daysOfPeriod() -> [CalendarDay]? {
        let step = period * rule.interval
        let range: Range<Int>
        switch rule.frequency {
        case .daily:
            let day = start.daysSinceEpoch + step
            range = day..<(day + 1)
        case .weekly:
            let offset = (start.weekday - rule.weekStart + 7) % 7
            let day = start.daysSinceEpoch - offset + step * 7
            range = day..<(day + 7)
        case .monthly:
            let month = start.month - 1 + step
            guard let days = Self.range(month: month % 12 + 1, of: start.year + month / 12) else { return nil }
            range = days
        case .yearly:
            guard let days = Self.range(year: start.year + step) else { return nil }
            range = days
        }
        guard CalendarDay(daysSinceEpoch: range.upperBound - 1) != nil else { return nil }
        let days = range.compactMap { CalendarDay(daysSinceEpoch: $0) }.filter(matches)
        guard !rule.positions.isEmpty else { return days }
        return days.enumerated().filter { index, _ in
            rule.positions.contains(index + 1) || rule.positions.contains(index - days.count)
        }.map(\.element)
    }

    private static func range(year: Int) -> Range<Int>? {
        guard let first = CalendarDay(year: year, month: 1, day: 1),
            let last = CalendarDay(year: year, month: 12, day: 31)
        else { return nil }
        return first.daysSinceEpoch..<(last.daysSinceEpoch + 1)
    }

    private static func range(month: Int, of year: Int) -> Range<Int>? {
        guard let first = CalendarDay(year: year, month: month, day: 1) else { return nil }
        return first.daysSinceEpoch..<(first.daysSinceEpoch + first.daysInMonth)
    }

    private func matches(_ day: CalendarDay) -> Bool {
        if !months.isEmpty, !months.contains(day.month) { return false }
        if !monthDays.isEmpty, !monthDays.contains(day.day), !monthDays.contains(day.day - day.daysInMonth - 1) {
            return false
        }
        if !rule.yearDays.isEmpty {
            let ordinal = day.dayOfYear
            let length = day.isInLeapYear ? 366 : 365
            guard rule.yearDays.contains(ordinal) || rule.yearDays.contains(ordinal - length - 1) else { return false }
        }
        if !rule.weekNumbers.isEmpty {
            let week = day.week(startingOn: rule.weekStart)
            guard rule.weekNumbers.contains(week.number) || rule.weekNumbers.contains(week.number - week.count - 1)
            else { return false }
        }
        return matchesWeekday(day)
    }

    private func matchesWeekday(_ day: CalendarDay) -> Bool {
        if weekdays.isEmpty, rule.weekdays.isEmpty { return true }
        if weekdays.contains(day.weekday) { return true }
        return rule.weekdays.contains { entry in
            guard let ordinal = entry.ordinal, entry.number == day.weekday else { return false }
            // Within the month also for a yearly rule that names months.
            let isInMonth = rule.frequency == .monthly || !rule.months.isEmpty
            let (index, length) =
                isInMonth ? (day.day - 1, day.daysInMonth) : (day.dayOfYear - 1, day.isInLeapYear ? 366 : 365)
            return ordinal > 0 ? index / 7 + 1 == ordinal : -((length - 1 - index) / 7 + 1) == ordinal
        }
    }
}
