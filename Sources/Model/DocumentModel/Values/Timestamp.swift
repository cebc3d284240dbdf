/// A point in time with the precision of documents: whole microseconds since 1970-01-01T00:00:00Z,
/// without leap seconds.
///
/// Firestore stores and compares microseconds; finer parts of a client's value are truncated before
/// they are stored. The valid range is 0001-01-01 to 9999-12-31. `isValid` reports whether a time
/// is in it; no operation traps.
public struct Timestamp: Codable, Sendable, Hashable, Comparable {
    /// Microseconds since the Unix epoch; negative for earlier times.
    public var microseconds: Int64

    /// Creates a time, which may be outside the valid range.
    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// Creates a time from seconds and nanoseconds, as in the protocol. `nanos` is truncated to
    /// microseconds. Returns nil outside the valid range.
    public init?(seconds: Int64, nanos: Int32) {
        guard (-62_135_596_800...253_402_300_799).contains(seconds), (0...999_999_999).contains(nanos) else {
            return nil
        }
        microseconds = seconds * 1_000_000 + Int64(nanos / 1000)
    }

    /// The whole seconds since the Unix epoch, rounded down, as in the protocol.
    public var seconds: Int64 { microseconds.floorDivided(by: 1_000_000) }

    /// The remainder in nanoseconds, from 0 to 999,999,000.
    public var nanos: Int32 {
        let remainder = microseconds % 1_000_000
        return Int32(truncatingIfNeeded: (remainder < 0 ? remainder + 1_000_000 : remainder) * 1000)
    }

    /// Whether the time is in the range of 0001-01-01 to 9999-12-31.
    public var isValid: Bool { (-62_135_596_800_000_000...253_402_300_799_999_999).contains(microseconds) }

    /// Orders times from earlier to later.
    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.microseconds < right.microseconds }

    /// The earliest valid time. It also represents the absence of a version in comparisons.
    public static let distantPast = Timestamp(microseconds: -62_135_596_800_000_000)
}

extension Int64 {
    /// Returns the quotient rounded toward negative infinity. `divisor` must be positive.
    func floorDivided(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
