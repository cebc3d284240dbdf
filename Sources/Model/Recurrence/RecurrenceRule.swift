package import CivilTime

/// A recurrence rule of RFC 5545, section 3.3.10, for tasks: it repeats on days, so its frequency is
/// at least daily and it has no `BYHOUR`, `BYMINUTE` or `BYSECOND`.
///
/// The time of day and the time zone belong to the task, not to the rule.
package struct RecurrenceRule: Sendable, Hashable {
    package enum Frequency: String, Sendable, Hashable, CaseIterable {
        case daily = "DAILY"
        case weekly = "WEEKLY"
        case monthly = "MONTHLY"
        case yearly = "YEARLY"
    }

    /// One entry of `BYDAY`, such as `MO` or `-1FR`.
    package struct Weekday: Sendable, Hashable {
        /// The position within the month or year, counted from the end if it is negative; nil for
        /// every such weekday.
        package var ordinal: Int?
        /// The day of the week: 1 for Monday to 7 for Sunday.
        package var number: Int

        package init(_ number: Int, ordinal: Int? = nil) {
            self.number = number
            self.ordinal = ordinal
        }
    }

    /// The end of a rule with `UNTIL`.
    package struct Until: Sendable, Hashable {
        package var day: CalendarDay
        /// The seconds since midnight; nil for a date, which includes the whole day.
        package var second: Int?
        /// Whether the time is in UTC rather than in the time zone of the task.
        package var isUTC: Bool

        package init(_ day: CalendarDay, second: Int? = nil, isUTC: Bool = false) {
            self.day = day
            self.second = second
            self.isUTC = isUTC
        }
    }

    package var frequency: Frequency
    /// The number of periods from one to the next, from 1 to `intervalLimit`.
    package var interval = 1
    /// The number of occurrences in all.
    package var count: Int?
    package var until: Until?
    package var months: [Int] = []
    package var weekNumbers: [Int] = []
    package var yearDays: [Int] = []
    package var monthDays: [Int] = []
    package var weekdays: [Weekday] = []
    package var positions: [Int] = []
    /// The day on which weeks start: 1 for Monday to 7 for Sunday.
    package var weekStart = 1

    /// The longest interval. A longer one is refused rather than computed with.
    package static let intervalLimit = 10_000
    static let countLimit = 1_000_000

    package init(_ frequency: Frequency, interval: Int = 1) {
        self.frequency = frequency
        self.interval = min(max(interval, 1), Self.intervalLimit)
    }
}

/// The reason for which a recurrence rule is not understood.
package struct RecurrenceProblem: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

// MARK: - Text

extension RecurrenceRule {
    /// The names of weekdays in rules, from Monday.
    static let weekdayNames = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]

    /// Parses parts such as `FREQ=WEEKLY;BYDAY=MO,TH`, in any order and case, without `RRULE:`.
    ///
    /// - Throws: `RecurrenceProblem` for a rule that is not valid, or that repeats within a day.
    package init(parsing text: some StringProtocol) throws(RecurrenceProblem) {
        var parts: [String: Substring] = [:]
        for part in String(text).uppercased().split(separator: ";", omittingEmptySubsequences: true) {
            guard let equals = part.firstIndex(of: "="), equals > part.startIndex else {
                throw RecurrenceProblem("'\(part)' is not NAME=VALUE")
            }
            guard parts.updateValue(part[part.index(after: equals)...], forKey: String(part[..<equals])) == nil else {
                throw RecurrenceProblem("\(part[..<equals]) is given twice")
            }
        }
        guard let name = parts.removeValue(forKey: "FREQ") else { throw RecurrenceProblem("FREQ is missing") }
        guard let frequency = Frequency(rawValue: String(name)) else {
            throw RecurrenceProblem("FREQ is DAILY, WEEKLY, MONTHLY or YEARLY, not \(name)")
        }
        self.init(frequency)
        for (key, value) in parts.sorted(by: { $0.key < $1.key }) { try set(key, value) }
        try validate()
    }

    private mutating func set(_ key: String, _ value: Substring) throws(RecurrenceProblem) {
        switch key {
        case "INTERVAL": interval = try Self.number(value, key, 1...Self.intervalLimit)
        case "COUNT": count = try Self.number(value, key, 1...Self.countLimit)
        case "UNTIL":
            guard let moment = RecurrenceMoment(basic: value) else {
                throw RecurrenceProblem("UNTIL is a date or time such as 20261130, not \(value)")
            }
            until = Until(moment.day, second: moment.second, isUTC: moment.isUTC)
        case "BYMONTH": months = try Self.numbers(value, key, 1...12)
        case "BYWEEKNO": weekNumbers = try Self.numbers(value, key, 1...53, signed: true)
        case "BYYEARDAY": yearDays = try Self.numbers(value, key, 1...366, signed: true)
        case "BYMONTHDAY": monthDays = try Self.numbers(value, key, 1...31, signed: true)
        case "BYSETPOS": positions = try Self.numbers(value, key, 1...366, signed: true)
        case "WKST":
            guard let number = Self.weekdayNames.firstIndex(of: String(value)) else {
                throw RecurrenceProblem("WKST is a day such as MO, not \(value)")
            }
            weekStart = number + 1
        case "BYDAY": weekdays = try Self.weekdays(value)
        default: throw RecurrenceProblem("\(key) is not supported")
        }
    }

    private func validate() throws(RecurrenceProblem) {
        if count != nil, until != nil { throw RecurrenceProblem("COUNT and UNTIL exclude each other") }
        if !weekNumbers.isEmpty, frequency != .yearly { throw RecurrenceProblem("BYWEEKNO needs FREQ=YEARLY") }
        if !yearDays.isEmpty, frequency == .weekly || frequency == .monthly {
            throw RecurrenceProblem("BYYEARDAY needs FREQ=YEARLY")
        }
        if !monthDays.isEmpty, frequency == .weekly { throw RecurrenceProblem("BYMONTHDAY excludes FREQ=WEEKLY") }
        if weekdays.contains(where: { $0.ordinal != nil }) {
            guard frequency == .monthly || frequency == .yearly, weekNumbers.isEmpty else {
                throw RecurrenceProblem("BYDAY with a number needs FREQ=MONTHLY or YEARLY, without BYWEEKNO")
            }
        }
        if !positions.isEmpty,
            months.isEmpty && weekNumbers.isEmpty && yearDays.isEmpty && monthDays.isEmpty && weekdays.isEmpty
        {
            throw RecurrenceProblem("BYSETPOS needs another BY part")
        }
    }

    private static func number(
        _ text: Substring, _ key: String, _ range: ClosedRange<Int>, signed: Bool = false
    ) throws(RecurrenceProblem) -> Int {
        guard text.utf8.count <= 8, let number = Int(text),
            range.contains(number) || signed && number < 0 && range.contains(-number)
        else { throw RecurrenceProblem("\(key) cannot be \(text)") }
        return number
    }

    private static func numbers(
        _ text: Substring, _ key: String, _ range: ClosedRange<Int>, signed: Bool = false
    ) throws(RecurrenceProblem) -> [Int] {
        var numbers: [Int] = []
        for word in text.split(separator: ",", omittingEmptySubsequences: false) {
            let number = try number(word, key, range, signed: signed)
            if !numbers.contains(number) { numbers.append(number) }
        }
        return numbers.sorted()
    }

    private static func weekdays(_ text: Substring) throws(RecurrenceProblem) -> [Weekday] {
        var weekdays: [Weekday] = []
        for word in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let index = weekdayNames.firstIndex(of: String(word.suffix(2))) else {
                throw RecurrenceProblem("BYDAY cannot be \(word)")
            }
            let digits = word.dropLast(2)
            let ordinal = digits.isEmpty ? nil : try number(digits, "BYDAY", 1...53, signed: true)
            let weekday = Weekday(index + 1, ordinal: ordinal)
            if !weekdays.contains(weekday) { weekdays.append(weekday) }
        }
        return weekdays.sorted { ($0.number, $0.ordinal ?? 0) < ($1.number, $1.ordinal ?? 0) }
    }
}

extension RecurrenceRule: CustomStringConvertible {
    /// The rule in the form of RFC 5545, with its parts in a fixed order.
    package var description: String {
        var parts = ["FREQ=\(frequency.rawValue)"]
        if interval != 1 { parts.append("INTERVAL=\(interval)") }
        if let count { parts.append("COUNT=\(count)") }
        if let until {
            parts.append("UNTIL=\(RecurrenceMoment(until.day, second: until.second, isUTC: until.isUTC).basic)")
        }
        func append(_ name: String, _ values: [String]) {
            if !values.isEmpty { parts.append("\(name)=\(values.joined(separator: ","))") }
        }
        append("BYMONTH", months.map(String.init))
        append("BYWEEKNO", weekNumbers.map(String.init))
        append("BYYEARDAY", yearDays.map(String.init))
        append("BYMONTHDAY", monthDays.map(String.init))
        append(
            "BYDAY",
            weekdays.map { day in
                (day.ordinal.map(String.init) ?? "") + Self.weekdayNames[min(max(day.number, 1), 7) - 1]
            })
        append("BYSETPOS", positions.map(String.init))
        if weekStart != 1 { append("WKST", [Self.weekdayNames[min(max(weekStart, 1), 7) - 1]]) }
        return parts.joined(separator: ";")
    }
}

extension RecurrenceProblem {
    package static let startMissing = RecurrenceProblem("DTSTART is a date or time such as 20261130")
}

extension RecurrenceRule {
    /// Returns the day one interval of months or years after `day`, at the end of a month that is
    /// too short for it; nil for a rule of days or weeks, or one that names days.
    package func clampedStep(from day: CalendarDay) -> CalendarDay? {
        guard frequency == .monthly || frequency == .yearly,
            months.isEmpty && weekNumbers.isEmpty && yearDays.isEmpty && monthDays.isEmpty && weekdays.isEmpty
        else { return nil }
        let month = day.month - 1 + (frequency == .monthly ? interval : interval * 12)
        guard let first = CalendarDay(year: day.year + month / 12, month: month % 12 + 1, day: 1) else { return nil }
        return first.adding(days: min(day.day, first.daysInMonth) - 1)
    }
}
