/// A time zone: the offset from UTC at each point in time.
package struct ZoneOffsets: Sendable {
    /// Returns the seconds that the zone is east of UTC at a number of seconds since 1970.
    private let offset: @Sendable (Int64) -> Int64

    /// Creates a zone from a function that returns the seconds east of UTC at a number of seconds
    /// since 1970.
    package init(_ offset: @escaping @Sendable (Int64) -> Int64) { self.offset = offset }

    package static let utc = ZoneOffsets { _ in 0 }

    /// Returns what clocks show at a number of seconds since 1970, as the seconds since 1970 if the zone
    /// were UTC.
    package func local(at time: Int64) -> Int64 { Self.sum(time, offset(time)) }

    /// Returns the point in time, in seconds since 1970, at which clocks show a local time, which is
    /// given as the seconds since 1970 if the zone were UTC.
    ///
    /// Of a time that the clocks show twice, the first is returned. A time that they skip is moved
    /// forward by as much as they skip: the offset before the gap applies (RFC 5545, section 3.3.5).
    package func instant(ofLocal local: Int64) -> Int64 {
        // A zone has at most one transition in two days.
        let before = offset(Self.sum(local, -86_400))
        let first = Self.sum(local, -before)
        if offset(first) == before { return first }
        let after = offset(Self.sum(local, 86_400))
        let second = Self.sum(local, -after)
        return offset(second) == after ? second : first
    }

    private static func sum(_ left: Int64, _ right: Int64) -> Int64 {
        let (sum, isTooLarge) = left.addingReportingOverflow(right)
        return isTooLarge ? (right < 0 ? .min : .max) : sum
    }
}
