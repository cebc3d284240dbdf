import Glibc

/// Converts between seconds since 1970 and the dates in headers and listings of S3.
enum S3Time {
    /// Returns the form of signatures: `20261121T120000Z`.
    static func amazon(_ seconds: Int64) -> String { format(seconds, "%Y%m%dT%H%M%SZ") }

    /// Parses the `Date` field of a response (RFC 9110, section 5.6.7, IMF-fixdate): `Sat, 21 Nov
    /// 2026 12:00:00 GMT`. Returns nil for any other form.
    static func http(_ text: String) -> Int64? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", let month = months.firstIndex(of: String(parts[2])) else {
            return nil
        }
        return seconds(date: [parts[3], "\(month + 1)", parts[1]], time: parts[4].split(separator: ":"))
    }

    /// Parses the form of listings: `2026-11-21T12:00:00.000Z`. Returns nil for any other form.
    static func listing(_ text: String) -> Int64? {
        let parts = text.split(separator: "T")
        guard parts.count == 2, text.hasSuffix("Z") else { return nil }
        let time = parts[1].prefix { $0 != "." && $0 != "Z" }
        return seconds(date: parts[0].split(separator: "-"), time: time.split(separator: ":"))
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func format(_ seconds: Int64, _ form: String) -> String {
        var time = time_t(seconds)
        var parts = tm()
        gmtime_r(&time, &parts)
        var text = [CChar](repeating: 0, count: 64)
        let count = strftime(&text, text.count, form, &parts)
        return String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Returns the seconds since 1970 from year, month, day and hour, minute, second. Nil if one of
    /// them is not a number in its range.
    private static func seconds(date: [Substring], time: [Substring]) -> Int64? {
        guard date.count == 3, time.count == 3 else { return nil }
        let numbers = (date + time).compactMap { Int32($0) }
        guard numbers.count == 6, (1970...9999).contains(numbers[0]), (1...12).contains(numbers[1]),
            (1...31).contains(numbers[2]), (0...23).contains(numbers[3]), (0...59).contains(numbers[4]),
            (0...60).contains(numbers[5])
        else { return nil }
        var parts = tm()
        parts.tm_year = numbers[0] - 1900
        parts.tm_mon = numbers[1] - 1
        (parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec) = (numbers[2], numbers[3], numbers[4], numbers[5])
        return Int64(timegm(&parts))
    }
}
