import DocumentModel

/// Writes and parses timestamps as in proto3 JSON: RFC 3339 in UTC with no, three or six digits of
/// fraction.
enum TimestampText {
    static func write(_ timestamp: Timestamp) -> String {
        let seconds = timestamp.seconds
        let days = seconds >= 0 ? seconds / 86_400 : -((-seconds + 86_399) / 86_400)
        let second = seconds - days * 86_400
        let (year, month, day) = civil(days: days)
        let date = "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
        let time = "\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))"
        let micros = Int64(timestamp.nanos / 1000)
        let fraction = micros == 0 ? "" : micros % 1000 == 0 ? ".\(padded(micros / 1000, 3))" : ".\(padded(micros, 6))"
        return "\(date)T\(time)\(fraction)Z"
    }

    /// Parses an RFC 3339 time; digits after the sixth are dropped. Returns nil for any other text,
    /// and for a time outside 0001-01-01 … 9999-12-31.
    static func read(_ text: String) -> Timestamp? {
        var rest = text.utf8[...]
        guard let year = number(&rest, digits: 4), take(&rest, "-"), let month = number(&rest, digits: 2),
            take(&rest, "-"),
            let day = number(&rest, digits: 2), take(&rest, "T") || take(&rest, "t"),
            let hour = number(&rest, digits: 2),
            take(&rest, ":"), let minute = number(&rest, digits: 2), take(&rest, ":"),
            let second = number(&rest, digits: 2), hour < 24, minute < 60, second < 60, (1...12).contains(month)
        else { return nil }
        let days = days(year: year, month: month, day: day)
        guard civil(days: days) == (year, month, day), let micros = fraction(&rest), let offset = offset(&rest) else {
            return nil
        }
        guard rest.isEmpty else { return nil }
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset
        return Timestamp(seconds: seconds, nanos: Int32(truncatingIfNeeded: micros * 1000))
    }

    // MARK: - The calendar (https://howardhinnant.github.io/date_algorithms.html)

    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        // Years begin in March, so that the leap day is the last day of the year.
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(days: Int64) -> (Int64, Int64, Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }

    // MARK: - Digits

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }

    private static func take(_ rest: inout Substring.UTF8View, _ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    private static func digit(_ rest: inout Substring.UTF8View) -> Int64? {
        guard let byte = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
        rest.removeFirst()
        return Int64(byte - UInt8(ascii: "0"))
    }

    private static func number(_ rest: inout Substring.UTF8View, digits: Int) -> Int64? {
        var number: Int64 = 0
        for _ in 0..<digits {
            guard let digit = digit(&rest) else { return nil }
            number = number * 10 + digit
        }
        return number
    }

    private static func fraction(_ rest: inout Substring.UTF8View) -> Int64? {
        guard take(&rest, ".") else { return 0 }
        var micros: Int64 = 0
        var count = 0
        while let digit = digit(&rest) {
            if count < 6 { micros = micros * 10 + digit }
            count += 1
        }
        guard count > 0 else { return nil }
        while count < 6 {
            micros *= 10
            count += 1
        }
        return micros
    }

    /// Parses an offset and returns its seconds east of Greenwich.
    private static func offset(_ rest: inout Substring.UTF8View) -> Int64? {
        if take(&rest, "Z") || take(&rest, "z") { return 0 }
        let isWest = take(&rest, "-")
        guard isWest || take(&rest, "+"), let hours = number(&rest, digits: 2), take(&rest, ":"),
            let minutes = number(&rest, digits: 2), hours < 24, minutes < 60
        else { return nil }
        return (isWest ? -1 : 1) * (hours * 3600 + minutes * 60)
    }
}
