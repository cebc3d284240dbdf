import Glibc

/// Understands due dates in words; what it does not know it leaves to the daemon, which knows dates and times.
struct DueWords {
    /// The civil date on this machine.
    let today: CivilDate

    /// `today`, `tomorrow`, `yesterday`, a weekday (the next one, today excluded), `+3d`, `+2w`; `none` removes.
    /// Anything else is returned as it came.
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

    /// Monday is 1; three letters are enough.
    private static func weekday(_ word: String) -> Int? {
        let names = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
        guard word.count >= 3 else { return nil }
        return names.firstIndex { $0.hasPrefix(word) }.map { $0 + 1 }
    }
}

/// A day of the proleptic Gregorian calendar, as days since 1970-01-01. The arithmetic is Howard Hinnant's
/// ("chrono-compatible low-level date algorithms").
struct CivilDate: Hashable, CustomStringConvertible {
    let days: Int

    init(days: Int) {
        self.days = days
    }

    init(year: Int, month: Int, day: Int) {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// The date that this machine's clock and time zone show.
    static func today() -> CivilDate {
        var now = time(nil)
        var parts = tm()
        localtime_r(&now, &parts)
        return CivilDate(year: Int(parts.tm_year) + 1900, month: Int(parts.tm_mon) + 1, day: Int(parts.tm_mday))
    }

    /// Monday is 1.
    var weekday: Int { ((days + 3) % 7 + 7) % 7 + 1 }

    func adding(days count: Int) -> CivilDate { CivilDate(days: days + count) }

    var description: String {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        func padded(_ number: Int, _ width: Int) -> String {
            String(repeating: "0", count: max(0, width - String(number).count)) + String(number)
        }
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
    }
}
