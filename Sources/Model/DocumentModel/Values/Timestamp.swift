/// A point in time as documents carry it: whole microseconds since 1970-01-01T00:00:00Z, without leap seconds.
///
/// Firestore stores and compares microseconds; finer parts of a client's value are truncated before they get here.
/// The valid range is 0001-01-01 to 9999-12-31; `isValid` tells, nothing here traps.
public struct Timestamp: Sendable, Hashable, Comparable {
    /// Microseconds since the Unix epoch; negative before it.
    public var microseconds: Int64

    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// From the wire's pair. `nanos` is truncated to microseconds; nil if the pair is outside the valid range.
    public init?(seconds: Int64, nanos: Int32) {
        guard (-62_135_596_800...253_402_300_799).contains(seconds), (0...999_999_999).contains(nanos) else {
            return nil
        }
        microseconds = seconds * 1_000_000 + Int64(nanos / 1000)
    }

    /// Whole seconds, rounded towards the past, as the wire has them.
    public var seconds: Int64 { microseconds.floorDivided(by: 1_000_000) }

    /// The rest in nanoseconds, 0 … 999,999,000.
    public var nanos: Int32 {
        let remainder = microseconds % 1_000_000
        return Int32(truncatingIfNeeded: (remainder < 0 ? remainder + 1_000_000 : remainder) * 1000)
    }

    public var isValid: Bool { (-62_135_596_800_000_000...253_402_300_799_999_999).contains(microseconds) }

    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.microseconds < right.microseconds }

    /// The earliest valid time; also what "no version" compares as.
    public static let distantPast = Timestamp(microseconds: -62_135_596_800_000_000)
}

extension Int64 {
    /// Quotient rounded towards negative infinity; `divisor` must be positive.
    func floorDivided(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
