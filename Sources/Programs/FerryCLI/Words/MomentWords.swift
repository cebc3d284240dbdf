import Glibc

/// RFC 3339 times as this machine's clock on the wall would show them.
enum MomentWords {
    /// RFC 3339 to the second, in the local time zone: `2026-11-21T21:31:05+01:00`. What is no time
    /// comes back as it is, and nil as `not yet ordered`.
    static func text(_ rfc3339: String?) -> String {
        guard let rfc3339 else { return "not yet ordered" }
        guard let seconds = seconds(rfc3339) else { return rfc3339.printable }
        var time = time_t(seconds)
        var parts = tm()
        guard localtime_r(&time, &parts) != nil else { return rfc3339 }
        func padded(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
        let date = CivilDate(year: Int(parts.tm_year) + 1900, month: Int(parts.tm_mon) + 1, day: Int(parts.tm_mday))
        let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { padded(Int($0)) }.joined(separator: ":")
        let minutes = parts.tm_gmtoff / 60
        let zone =
            minutes == 0
            ? "Z" : "\(minutes < 0 ? "-" : "+")\(padded(abs(minutes) / 60)):\(padded(abs(minutes) % 60))"
        return "\(date)T\(clock)\(zone)"
    }

    /// Seconds since 1970 of a time in UTC, as the daemon writes them: `2026-11-21T20:31:05.123Z`.
    static func seconds(_ text: String) -> Int64? {
        guard text.hasSuffix("Z") else { return nil }
        let halves = text.dropLast().split(separator: "T")
        guard halves.count == 2 else { return nil }
        let date = halves[0].split(separator: "-").compactMap { Int($0) }
        let time = halves[1].prefix { $0 != "." }.split(separator: ":").compactMap { Int64($0) }
        guard date.count == 3, time.count == 3, (1...12).contains(date[1]), (1...31).contains(date[2]),
            (0...9999).contains(date[0]), (0..<24).contains(time[0]), (0..<60).contains(time[1]),
            (0...60).contains(time[2])
        else { return nil }
        let days = CivilDate(year: date[0], month: date[1], day: date[2]).days
        return Int64(days) * 86_400 + time[0] * 3600 + time[1] * 60 + time[2]
    }
}
