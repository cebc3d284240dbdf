import CivilTime
import DocumentModel

/// Writes and parses timestamps as in proto3 JSON: RFC 3339 in UTC with no, three or six digits of
/// fraction.
enum TimestampText {
    static func write(_ timestamp: Timestamp) -> String {
        UTCTime(microseconds: timestamp.microseconds).rfc3339(fraction: .groups)
    }

    /// Parses an RFC 3339 time; digits after the sixth are dropped. Returns nil for any other text,
    /// and for a time outside 0001-01-01 … 9999-12-31.
    static func read(_ text: String) -> Timestamp? {
        UTCTime(rfc3339: text).map { Timestamp(microseconds: $0.microseconds) }
    }
}
