import CivilTime

/// The parser of due dates in words. Unknown words are left to the daemon, which parses dates and
/// times.
struct DueWords {
    /// The civil date on this machine.
    let today: CalendarDay

    /// Resolves `today`, `tomorrow`, `yesterday`, a weekday (the next one, today excluded), `+3d`,
    /// `+2w`, and `none`, which removes the date. Any other text is returned unchanged.
    func resolve(_ word: String) -> String {
        let lower = word.lowercased()
        switch lower {
        case "none": return ""
        case "today": return today.description
        case "tomorrow": return today.adding(days: 1).description
        case "yesterday": return today.adding(days: -1).description
        default: break
        }
        if let weekday = Self.weekday(lower) {
            let ahead = (weekday - today.weekday + 7) % 7
            return today.adding(days: ahead == 0 ? 7 : ahead).description
        }
        if lower.hasPrefix("+"), let unit = lower.last, let count = Int(lower.dropFirst().dropLast()), count < 100_000 {
            if unit == "d" { return today.adding(days: count).description }
            if unit == "w" { return today.adding(days: count * 7).description }
        }
        return word
    }

    /// Returns the number of a weekday, starting with 1 for Monday. Three letters are enough.
    private static func weekday(_ word: String) -> Int? {
        let names = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
        guard word.count >= 3 else { return nil }
        return names.firstIndex { $0.hasPrefix(word) }.map { $0 + 1 }
    }
}
