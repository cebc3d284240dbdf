import CivilTime
import SystemIO

/// RFC 3339 times as this machine's clock on the wall would show them.
enum MomentWords {
    /// RFC 3339 to the second, in the local time zone: `2026-11-21T21:31:05+01:00`. What is no time
    /// comes back as it is, and nil as `not yet ordered`.
    static func text(_ rfc3339: String?) -> String {
        guard let rfc3339 else { return "not yet ordered" }
        guard let time = UTCTime(rfc3339: rfc3339) else { return rfc3339.printable }
        return LocalTime(seconds: time.seconds)?.rfc3339 ?? rfc3339
    }
}
