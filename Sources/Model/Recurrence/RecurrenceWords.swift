/// The parser of recurrences in words, as in `every:3d`.
package enum RecurrenceWords {
    /// The forms, for messages.
    package static let forms = "3d, 2w, 1m, 1y, day, weekday, mon,thu, 15 (of the month), last, or a rule FREQ=…"

    /// Parses a number with `d`, `w`, `m` or `y`; `day`, `week`, `month`, `year` or `weekday`; names
    /// of weekdays; days of the month with `last` for the last one; or a rule of RFC 5545. Returns
    /// nil for any other text.
    package static func rule(_ text: String) -> RecurrenceRule? {
        let word = text.lowercased()
        if let rule = rule(ofUnit: word) { return rule }
        if let rule = rule(ofList: word) { return rule }
        return try? RecurrenceRule(parsing: text)
    }

    private static func rule(ofUnit word: String) -> RecurrenceRule? {
        switch word {
        case "day", "daily": return RecurrenceRule(.daily)
        case "week", "weekly": return RecurrenceRule(.weekly)
        case "month", "monthly": return RecurrenceRule(.monthly)
        case "year", "yearly": return RecurrenceRule(.yearly)
        case "weekday", "weekdays":
            var rule = RecurrenceRule(.weekly)
            rule.weekdays = (1...5).map { RecurrenceRule.Weekday($0) }
            return rule
        default: break
        }
        guard let unit = word.last, let count = Int(word.dropLast()),
            (1...RecurrenceRule.intervalLimit).contains(count)
        else { return nil }
        switch unit {
        case "d": return RecurrenceRule(.daily, interval: count)
        case "w": return RecurrenceRule(.weekly, interval: count)
        case "m": return RecurrenceRule(.monthly, interval: count)
        case "y": return RecurrenceRule(.yearly, interval: count)
        default: return nil
        }
    }

    private static func rule(ofList text: String) -> RecurrenceRule? {
        let words = text.split(separator: ",", omittingEmptySubsequences: false)
        let weekdays = words.compactMap(weekday)
        if weekdays.count == words.count {
            var rule = RecurrenceRule(.weekly)
            rule.weekdays = Set(weekdays).sorted().map { RecurrenceRule.Weekday($0) }
            return rule
        }
        let days = words.compactMap { word in
            word == "last" ? -1 : Int(word).flatMap { (1...31).contains($0) ? $0 : nil }
        }
        guard days.count == words.count else { return nil }
        var rule = RecurrenceRule(.monthly)
        rule.monthDays = Set(days).sorted()
        return rule
    }

    /// Returns the number of a weekday, starting with 1 for Monday. Three letters are enough.
    private static func weekday(_ word: Substring) -> Int? {
        let names = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
        guard word.count >= 3 else { return nil }
        return names.firstIndex { $0.hasPrefix(word) }.map { $0 + 1 }
    }
}
