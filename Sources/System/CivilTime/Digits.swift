/// Writes numbers of a fixed width.
struct DigitWriter {
    private var bytes: [UInt8] = []

    init() { bytes.reserveCapacity(32) }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    mutating func append(_ text: String) { bytes += text.utf8 }

    /// Appends a nonnegative number with leading zeros.
    mutating func append(_ number: Int, width: Int) {
        let start = bytes.count
        var rest = number
        for _ in 0..<width {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        }
        bytes[start...].reverse()
    }

    mutating func append(_ day: CalendarDay, separator: String) {
        append(day.year, width: 4)
        append(separator)
        append(day.month, width: 2)
        append(separator)
        append(day.day, width: 2)
    }

    mutating func append(clock second: Int, separator: String, omitsZeroSeconds: Bool = false) {
        append(second / 3600, width: 2)
        append(separator)
        append(second / 60 % 60, width: 2)
        if omitsZeroSeconds, second % 60 == 0 { return }
        append(separator)
        append(second % 60, width: 2)
    }

    mutating func append(microsecond: Int, _ fraction: UTCTime.Fraction) {
        switch fraction {
        case .none: return
        case .milliseconds: break
        case .groups, .shortest: if microsecond == 0 { return }
        }
        append(".")
        append(microsecond, width: 6)
        switch fraction {
        case .none: break
        case .milliseconds: bytes.removeLast(3)
        case .groups: if microsecond % 1000 == 0 { bytes.removeLast(3) }
        case .shortest: while bytes.last == UInt8(ascii: "0") { bytes.removeLast() }
        }
    }
}

/// Reads numbers of a fixed width from ASCII text.
struct DigitReader<Text: Collection> where Text.Element == UInt8 {
    private var rest: Text.SubSequence

    init(_ text: Text) { rest = text[...] }

    var isAtEnd: Bool { rest.isEmpty }

    /// Skips the character if it comes next. Returns whether it did.
    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest = rest.dropFirst()
        return true
    }

    private mutating func digit() -> Int? {
        guard let byte = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
        rest = rest.dropFirst()
        return Int(byte - UInt8(ascii: "0"))
    }

    /// Reads a number of exactly this many digits, at most 18. Nil for no digits.
    mutating func number(digits: Int) -> Int? {
        guard digits > 0 else { return nil }
        var number = 0
        for _ in 0..<digits {
            guard let digit = digit() else { return nil }
            number = number * 10 + digit
        }
        return number
    }

    mutating func day(separator: Unicode.Scalar?) -> CalendarDay? {
        guard let year = number(digits: 4), skip(separator), let month = number(digits: 2), skip(separator),
            let day = number(digits: 2)
        else { return nil }
        return CalendarDay(year: year, month: month, day: day)
    }

    /// Reads hours, minutes and seconds. Returns the seconds since midnight.
    mutating func clock(separator: Unicode.Scalar?, allowsLeapSecond: Bool = false) -> Int? {
        guard let hour = number(digits: 2), hour < 24, skip(separator), let minute = number(digits: 2), minute < 60,
            skip(separator), let second = number(digits: 2), second < (allowsLeapSecond ? 61 : 60)
        else { return nil }
        return hour * 3600 + minute * 60 + second
    }

    /// Reads the fraction of a second if there is one. Returns its microseconds.
    mutating func fraction() -> Int? {
        guard take(".") else { return 0 }
        guard var value = digit() else { return nil }
        var count = 1
        while let digit = digit() {
            guard count < 6 else { continue }
            value = value * 10 + digit
            count += 1
        }
        while count < 6 {
            value *= 10
            count += 1
        }
        return value
    }

    /// Reads an offset. Returns its seconds east of Greenwich.
    mutating func offset() -> Int? {
        if take("Z") || take("z") { return 0 }
        let isWest = take("-")
        guard isWest || take("+"), let hours = number(digits: 2), hours < 24, take(":"),
            let minutes = number(digits: 2), minutes < 60
        else { return nil }
        return (isWest ? -1 : 1) * (hours * 3600 + minutes * 60)
    }

    private mutating func skip(_ separator: Unicode.Scalar?) -> Bool { separator.map { take($0) } ?? true }
}
