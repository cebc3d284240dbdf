import DocumentModel
import Glibc
import TaskModel

/// The clocks of this machine.
enum Clocks {
    /// Seconds since 1970, as the user set them; for showing only.
    static func wallSeconds() -> Int64 { Int64(time(nil)) }

    /// Milliseconds since 1970, as the user set them; for showing only.
    static func wallMilliseconds() -> Int64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }

    /// How long this machine has slept since it was booted, in milliseconds: what one clock counts
    /// and the other does not.
    static func sleptMilliseconds() -> Int64 { milliseconds(CLOCK_BOOTTIME) - milliseconds(CLOCK_MONOTONIC) }

    private static func milliseconds(_ clock: Int32) -> Int64 {
        var now = timespec()
        clock_gettime(clock, &now)
        return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }
}

extension Timestamp {
    /// RFC 3339 in UTC, with as many decimals as it takes.
    var rfc3339: String {
        let (day, second) = seconds.quotientAndRemainder(dividingBy: 86_400)
        let days = second < 0 ? day - 1 : day
        let secondOfDay = second < 0 ? second + 86_400 : second
        guard let date = CivilDate(daysSinceEpoch: Int(days)) else { return "" }
        func digits(_ number: Int64, _ width: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: Swift.max(0, width - text.utf8.count)) + text
        }
        var text = "\(date)T\(digits(secondOfDay / 3600, 2)):\(digits(secondOfDay / 60 % 60, 2)):"
        text += digits(secondOfDay % 60, 2)
        if nanos != 0 {
            var fraction = digits(Int64(nanos), 9)
            while fraction.hasSuffix("0") { fraction.removeLast() }
            text += "." + fraction
        }
        return text + "Z"
    }
}
