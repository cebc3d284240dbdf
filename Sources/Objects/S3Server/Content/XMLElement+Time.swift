import CivilTime
import XML

extension XMLElement {
    /// Creates an element that holds a time in the form of S3, `2026-11-21T12:00:00.000Z`.
    ///
    /// - Parameter time: Microseconds since 1970.
    init(_ name: String, microseconds time: Int64) {
        self.init(name, UTCTime(microseconds: time).rfc3339(fraction: .milliseconds))
    }
}
