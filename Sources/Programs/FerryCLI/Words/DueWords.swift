import CivilTime

/// The parser of due dates in words. Unknown words are left to the daemon, which parses dates and
/// times.
struct DueWords {
    /// The civil date on this machine.
    let today: CalendarDay

    /// Resolves `today`, `tomorrow`, `yesterday`, a weekday (the next one, today excluded), `+3d`,
    /// `+2w`, `+1m`, `+1y`, `next week` (its Monday), `next month` (its first day), `eow`, `eom`,
    /// `eoy` (the last day of the week, month or year), each with a time of day after it if wanted,
    /// as in `fri 17:00`, and `none`, which removes the date. Any other text is returned unchanged.
    func resolve(_ word: String) -> String {
        if let space = word.lastIndex(of: " "), let time = Self.time(word[word.index(after: space)...]) {
            let day = resolve(String(word[..<space]))
            return day == word[..<space] || CalendarDay(day) == nil ? word : "\(day)T\(time)"
        }
        return resolveDay(word)
    }

    private func resolveDay(_ word: String) -> String {
        let lower = word.lowercased()
        switch lower {
        case "none": return ""
        case "today": return today.description
        case "tomorrow": return today.adding(days: 1).description
        case "yesterday": return today.adding(days: -1).description
        case "eow": return today.adding(days: 7 - today.weekday).description
        case "eom": return today.adding(days: today.daysInMonth - today.day).description
        case "eoy": return CalendarDay(year: today.year, month: 12, day: 31)?.description ?? word
        case "next week": return today.adding(days: 8 - today.weekday).description
        case "next month": return today.adding(days: today.daysInMonth - today.day + 1).description
        default: break
        }
        if let weekday = Self.weekday(lower) {
            let ahead = (weekday - today.weekday + 7) % 7
            return today.adding(days: ahead == 0 ? 7 : ahead).description
        }
        if lower.hasPrefix("+"), let unit = lower.last, let count = Int(lower.dropFirst().dropLast()), count < 100_000 {
            if unit == "d" { return today.adding(days: count).description }
            if unit == "w" { return today.adding(days: count * 7).description }
            if unit == "m" || unit == "y" { return adding(months: unit == "m" ? count : count * 12).description }
        }
        return word
    }

    /// Returns the same day of a later month, or the last day of one that is too short for it.
    private func adding(months count: Int) -> CalendarDay {
        let month = today.month - 1 + count
        guard let first = CalendarDay(year: today.year + month / 12, month: month % 12 + 1, day: 1) else {
            return today.adding(days: .max)
        }
        return first.adding(days: min(today.day, first.daysInMonth) - 1)
    }

    /// Returns a time of day such as `9:00` or `17:00` with two digits for the hour.
    private static func time(_ text: Substring) -> String? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, (1...2).contains(parts[0].utf8.count), parts[1].utf8.count == 2,
            let hour = Int(parts[0]), (0..<24).contains(hour), let minute = Int(parts[1]), (0..<60).contains(minute)
        else { return nil }
        return (parts[0].utf8.count == 1 ? "0" : "") + text
    }

    /// Returns the number of a weekday, starting with 1 for Monday. Three letters are enough.
    private static func weekday(_ word: String) -> Int? {
        let names = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
        guard word.count >= 3 else { return nil }
        return names.firstIndex { $0.hasPrefix(word) }.map { $0 + 1 }
    }
}
