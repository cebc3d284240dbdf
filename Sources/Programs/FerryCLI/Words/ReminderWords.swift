import CivilTime
import SystemIO

/// The parser of reminders and snoozes in words. Here `m` is a minute, not a month.
struct ReminderWords {
    let due: DueWords

    /// The time of day that a day without one has, in seconds after midnight.
    private static let timeOfDays = 9 * 3600
    private static let units: [Character: (length: Int, name: String, isClock: Bool)] = [
        "m": (60, "M", true), "h": (3600, "H", true), "d": (86_400, "D", false), "w": (604_800, "W", false),
    ]

    /// Returns the reminders of a word such as `30m`, `1d,2h`, `fri 17:00`, `none` or `default`, as
    /// the daemon reads them. Unknown words are returned unchanged.
    func reminders(_ word: String) -> [String] {
        switch word.lowercased() {
        case "none": return []
        case "default", "": return ["default"]
        default: break
        }
        return word.split(separator: ",").map { part in
            let text = String(part.drop { $0 == " " })
            if text == "0" || text.lowercased() == "due" { return "PT0M" }
            guard let (count, unit) = Self.duration(text) else { return due.resolve(text) }
            return unit.isClock ? "-PT\(count)\(unit.name)" : "-P\(count)\(unit.name)"
        }
    }

    /// Returns the time of a snooze such as `10m`, `+1h`, `tomorrow` or `fri 17:00` in RFC 3339,
    /// empty for `none`; nil for any other word.
    ///
    /// - Parameter now: Seconds since 1970.
    func snooze(_ word: String, now: Int64) -> String? {
        if word.lowercased() == "none" { return "" }
        let text = word.hasPrefix("+") ? String(word.dropFirst()) : word
        if let (count, unit) = Self.duration(text) {
            return UTCTime(seconds: now.saturatingAdded(to: Int64(count).saturatingMultiplied(by: Int64(unit.length))))
                .rfc3339(fraction: .none)
        }
        let resolved = due.resolve(word)
        if let time = UTCTime(rfc3339: resolved) { return time.rfc3339(fraction: .none) }
        guard let day = CalendarDay(resolved.prefix(10)) else { return nil }
        var second = Self.timeOfDays
        if resolved.count > 10 {
            // The time of day has been checked as one of the words; a written one may be any text.
            guard let time = UTCTime(rfc3339: "\(resolved)\(resolved.count == 16 ? ":00" : "")Z") else { return nil }
            second = Int(time.microsecondOfDay / 1_000_000)
        }
        return LocalTime.seconds(on: day, second: second).map { UTCTime(seconds: $0).rfc3339(fraction: .none) }
    }

    private static func duration(_ text: String) -> (count: Int, unit: (length: Int, name: String, isClock: Bool))? {
        guard let last = text.last, let unit = units[Character(last.lowercased())], let count = Int(text.dropLast()),
            (1...100_000).contains(count), text.first?.isNumber == true
        else { return nil }
        return (count, unit)
    }
}
