import Control
import Recurrence

/// The recurrences of other formats as rules of RFC 5545, and back.
enum ExchangeRecurrence {
    /// Returns the rule of `rec:` in todo.txt, such as `1w` or `+2m`: with `+` it counts from the due
    /// date, otherwise from the completion. Nil for a text that is none.
    static func todo(_ text: some StringProtocol) -> (rule: RecurrenceRule, isFromCompletion: Bool)? {
        let isFromCompletion = !text.hasPrefix("+")
        let word = String(isFromCompletion ? text[...] : text.dropFirst())
        if word == "1b" { return (weekdays, isFromCompletion) }
        return units(word, ["d": .daily, "w": .weekly, "m": .monthly, "y": .yearly]).map { ($0, isFromCompletion) }
    }

    /// Returns the rule of `recur` in Taskwarrior; nil for a text that is none.
    static func taskwarrior(_ text: String) -> RecurrenceRule? {
        switch text.lowercased() {
        case "daily", "day": RecurrenceRule(.daily)
        case "weekdays": weekdays
        case "weekly", "week", "sennight": RecurrenceRule(.weekly)
        case "biweekly", "fortnight": RecurrenceRule(.weekly, interval: 2)
        case "monthly", "month": RecurrenceRule(.monthly)
        case "bimonthly": RecurrenceRule(.monthly, interval: 2)
        case "quarterly": RecurrenceRule(.monthly, interval: 3)
        case "semiannual": RecurrenceRule(.monthly, interval: 6)
        case "annual", "yearly", "year": RecurrenceRule(.yearly)
        case "biannual", "biyearly": RecurrenceRule(.yearly, interval: 2)
        case let word:
            units(
                word.hasPrefix("p") ? String(word.dropFirst()) : word,
                [
                    "d": .daily, "day": .daily, "days": .daily, "w": .weekly, "wk": .weekly, "wks": .weekly,
                    "week": .weekly, "weeks": .weekly, "mo": .monthly, "mth": .monthly, "mths": .monthly,
                    "month": .monthly, "months": .monthly, "y": .yearly, "yr": .yearly, "yrs": .yearly,
                    "year": .yearly, "years": .yearly,
                ].merging(word.hasPrefix("p") ? ["m": .monthly] : [:]) { $1 })
        }
    }

    /// Returns the rule of Obsidian Tasks' words, such as `every 2 weeks` or `every week on Sunday when
    /// done`; nil for words that are not understood.
    static func obsidian(_ text: String) -> (rule: RecurrenceRule, isFromCompletion: Bool)? {
        var words = text.lowercased().split { $0 == " " || $0 == "," }.map(String.init)[...]
        let isFromCompletion = words.suffix(2) == ["when", "done"]
        if isFromCompletion { words = words.dropLast(2) }
        guard words.first == "every" else { return nil }
        words = words.dropFirst()
        let number = words.first.flatMap { Int($0) }
        if number != nil { words = words.dropFirst() }
        var unit = words.first ?? ""
        if unit.count > 3, unit.hasSuffix("s"), unit != "weekdays" { unit.removeLast() }
        let frequencies: [String: RecurrenceRule.Frequency] = [
            "day": .daily, "week": .weekly, "month": .monthly, "year": .yearly,
        ]
        if let frequency = frequencies[unit], (number ?? 1) > 0 {
            var rule = RecurrenceRule(frequency, interval: number ?? 1)
            words = words.dropFirst()
            if words.isEmpty { return (rule, isFromCompletion) }
            guard words.first == "on" else { return nil }
            words = words.dropFirst()
            if frequency == .weekly, let days = RecurrenceWords.rule(words.joined(separator: ","))?.weekdays,
                !days.isEmpty
            {
                rule.weekdays = days
            } else if frequency == .monthly, words.first == "the", words.count == 2, let day = words.last {
                guard let number = day == "last" ? -1 : Int(day.prefix { $0.isNumber }), number != 0, number < 32 else {
                    return nil
                }
                rule.monthDays = [number]
            } else {
                return nil
            }
            return (rule, isFromCompletion)
        }
        guard number == nil, !words.isEmpty, let rule = RecurrenceWords.rule(words.joined(separator: ",")),
            rule.monthDays.isEmpty
        else { return nil }
        return (rule, isFromCompletion)
    }

    /// Reads the keys of a task's file, as `ferry show` has them; nil for a recurrence that is not
    /// understood.
    static func rule(of fields: [String: String]) -> (rule: RecurrenceRule, isFromCompletion: Bool)? {
        guard var text = fields["recurrence"]?.uppercased()[...] else { return nil }
        if text.hasPrefix("DTSTART"), let end = text.firstIndex(where: { $0 == ";" || $0 == "\n" || $0 == " " }) {
            text = text[text.index(after: end)...]
        }
        if text.hasPrefix("RRULE:") { text = text.dropFirst(6) }
        guard let rule = try? RecurrenceRule(parsing: text) else { return nil }
        return (rule, fields["recurrence_anchor"] == "completion")
    }

    /// Returns the number and unit of a rule that names nothing but a number of days, weeks, months or
    /// years; nil for any other rule.
    static func units(of rule: RecurrenceRule) -> (count: Int, unit: String)? {
        guard rule == RecurrenceRule(rule.frequency, interval: rule.interval) else { return nil }
        let unit =
            switch rule.frequency {
            case .daily: "d"
            case .weekly: "w"
            case .monthly: "m"
            case .yearly: "y"
            }
        return (rule.interval, unit)
    }

    static let weekdays: RecurrenceRule = {
        var rule = RecurrenceRule(.weekly)
        rule.weekdays = (1...5).map { RecurrenceRule.Weekday($0) }
        return rule
    }()

    private static func units(_ word: String, _ units: [String: RecurrenceRule.Frequency]) -> RecurrenceRule? {
        let digits = word.prefix { ("0"..."9").contains($0) }
        guard let count = Int(digits), (1...RecurrenceRule.intervalLimit).contains(count),
            let frequency = units[String(word.dropFirst(digits.count))]
        else { return nil }
        return RecurrenceRule(frequency, interval: count)
    }
}

extension ImportRecord {
    /// Sets the recurrence, unless the task is completed: then no date follows.
    mutating func setRecurrence(_ rule: RecurrenceRule, isFromCompletion: Bool) {
        guard change.isCompleted != true else {
            return changes.append("its recurrence \(rule) is left out, because it is completed")
        }
        change.texts["recurrence"] = rule.description
        if isFromCompletion { change.texts["recurrence_anchor"] = "completion" }
    }
}
