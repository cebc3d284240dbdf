import CivilTime
public import DocumentModel

/// The components of a written date or time: `2026-11-30`, `2026-11-30T17:00`, `2026-11-30
/// 17:00:30.5+01:00`.
struct TimeText {
    var date: CivilDate
    /// Microseconds since midnight; nil for a date alone.
    var time: Int64?
    /// Minutes east of UTC; nil if there is no offset.
    var offset: Int?

    /// Parses a complete date or time in the years 1 to 9999; nil for anything else. Fractions
    /// finer than microseconds are truncated.
    init?(_ text: String) {
        var rest = text.utf8[...]
        guard let year = rest.takeNumber(digits: 4), rest.take("-"), let month = rest.takeNumber(digits: 2),
            rest.take("-"), let day = rest.takeNumber(digits: 2),
            let date = CivilDate(year: year, month: month, day: day)
        else { return nil }
        self.date = date
        guard !rest.isEmpty else { return }
        guard rest.take("T") || rest.take("t") || rest.take(" "), let time = Self.time(&rest) else { return nil }
        self.time = time
        guard !rest.isEmpty else { return }
        _ = rest.take(" ")
        guard let offset = Self.offset(&rest), rest.isEmpty else { return nil }
        self.offset = offset
    }

    /// The instant, with a missing time as midnight and a missing offset as UTC; nil outside the
    /// valid range.
    var timestamp: Timestamp? {
        let minutes = Int64(date.daysSinceEpoch) * 1440 - Int64(offset ?? 0)
        let timestamp = Timestamp(microseconds: minutes * 60_000_000 + (time ?? 0))
        return timestamp.isValid ? timestamp : nil
    }

    private static func time(_ rest: inout Substring.UTF8View) -> Int64? {
        guard let hour = rest.takeNumber(digits: 2), hour < 24, rest.take(":"),
            let minute = rest.takeNumber(digits: 2), minute < 60
        else { return nil }
        var microseconds = Int64(hour * 3600 + minute * 60) * 1_000_000
        guard rest.take(":") else { return microseconds }
        guard let second = rest.takeNumber(digits: 2), second < 60 else { return nil }
        microseconds += Int64(second) * 1_000_000
        guard rest.take(".") else { return microseconds }
        guard let first = rest.first, first.isDigit else { return nil }
        var unit: Int64 = 100_000
        while let digit = rest.first, digit.isDigit {
            microseconds += Int64(digit - UInt8(ascii: "0")) * unit
            unit /= 10
            rest.removeFirst()
        }
        return microseconds
    }

    private static func offset(_ rest: inout Substring.UTF8View) -> Int? {
        if rest.take("Z") || rest.take("z") { return 0 }
        let isWest = rest.take("-")
        guard isWest || rest.take("+"), let hours = rest.takeNumber(digits: 2), hours < 24 else { return nil }
        var minutes = 0
        if !rest.isEmpty {
            _ = rest.take(":")
            guard let written = rest.takeNumber(digits: 2), written < 60 else { return nil }
            minutes = written
        }
        return (isWest ? -1 : 1) * (hours * 60 + minutes)
    }
}

extension Substring.UTF8View {
    fileprivate mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard first == UInt8(ascii: character) else { return false }
        removeFirst()
        return true
    }

    fileprivate mutating func takeNumber(digits: Int) -> Int? {
        let text = prefix(digits)
        guard text.count == digits, text.allSatisfy(\.isDigit) else { return nil }
        removeFirst(digits)
        return text.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { self &- UInt8(ascii: "0") < 10 }
}

extension Timestamp {
    /// Creates a time from RFC 3339 text with an offset, such as `2026-11-30T17:00:00.25+01:00`.
    /// Seconds may be missing. Returns nil for other text.
    public init?(rfc3339 text: String) {
        guard let parts = TimeText(text), parts.time != nil, parts.offset != nil, let timestamp = parts.timestamp else {
            return nil
        }
        self = timestamp
    }

    /// The time in UTC with as many fraction digits as needed: `2026-11-30T16:00:00Z`. A time
    /// outside the valid range is moved to the nearest valid one.
    public var rfc3339: String { text(withSeconds: true) }

    /// Returns the shortest text that represents this time; without seconds if they are zero and
    /// `withSeconds` is false.
    func text(withSeconds: Bool) -> String {
        UTCTime(microseconds: microseconds).rfc3339(fraction: .shortest, omitsZeroSeconds: !withSeconds)
    }
}
