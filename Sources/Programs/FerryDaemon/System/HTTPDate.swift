import TaskModel

/// The dates of HTTP headers, `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7).
enum HTTPDate {
    /// Seconds since 1970; nil for what is none.
    static func seconds(_ text: String) -> Int64? {
        let parts = text.split(separator: " ")
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        guard parts.count == 6, parts[5] == "GMT", let day = Int(parts[1]), let year = Int(parts[3]),
            let month = months.firstIndex(of: String(parts[2])),
            let date = CivilDate(year: year, month: month + 1, day: day)
        else { return nil }
        let time = parts[4].split(separator: ":").compactMap { Int64($0) }
        guard time.count == 3, time.allSatisfy({ (0...60).contains($0) }) else { return nil }
        return Int64(date.daysSinceEpoch) * 86_400 + time[0] * 3600 + time[1] * 60 + time[2]
    }
}
