import CivilTime
import SystemIO

/// RFC 3339 times in this machine's time zone.
enum MomentWords {
    /// Returns the time to the second in the local time zone: `2026-11-21T21:31:05+01:00`. A text
    /// that is not a time is returned unchanged, and nil gives `not yet ordered`.
    static func text(_ rfc3339: String?) -> String {
        guard let rfc3339 else { return "not yet ordered" }
        guard let time = UTCTime(rfc3339: rfc3339) else { return rfc3339.printable }
        return LocalTime(seconds: time.seconds)?.rfc3339 ?? rfc3339
    }
}
