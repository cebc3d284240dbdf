package import CivilTime

/// A date or time in the basic form of RFC 5545: `20261130`, `20261130T090000` or
/// `20261130T090000Z`.
package struct RecurrenceMoment: Sendable, Hashable {
    package var day: CalendarDay
    /// The seconds since midnight; nil for a date.
    package var second: Int?
    package var isUTC: Bool

    package init(_ day: CalendarDay, second: Int? = nil, isUTC: Bool = false) {
        self.day = day
        self.second = second
        self.isUTC = isUTC
    }

    /// Parses the basic form. Returns nil for any other text.
    package init?(basic text: some StringProtocol) {
        let isUTC = text.hasSuffix("Z") || text.hasSuffix("z")
        let digits = Array((isUTC ? text.dropLast() : text[...]).utf8)
        let hasTime = digits.count == 15 && [UInt8(ascii: "T"), UInt8(ascii: "t")].contains(digits[8])
        guard hasTime || digits.count == 8 && !isUTC
        else { return nil }
        func number(_ range: Range<Int>) -> Int? {
            guard digits[range].allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) else { return nil }
            return digits[range].reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        }
        guard let year = number(0..<4), let month = number(4..<6), let dayOfMonth = number(6..<8),
            let day = CalendarDay(year: year, month: month, day: dayOfMonth)
        else { return nil }
        self.init(day, isUTC: isUTC)
        guard hasTime else { return }
        guard let hour = number(9..<11), let minute = number(11..<13), let second = number(13..<15), hour < 24,
            minute < 60, second < 60
        else { return nil }
        self.second = hour * 3600 + minute * 60 + second
    }

    /// The basic form.
    package var basic: String {
        let date = day.description.filter { $0 != "-" }
        guard let second else { return date }
        return date + "T" + (second / 3600).twoDigits + (second / 60 % 60).twoDigits + (second % 60).twoDigits
            + (isUTC ? "Z" : "")
    }
}
