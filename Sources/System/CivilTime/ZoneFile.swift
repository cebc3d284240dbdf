/// The time zone of a file in the form of RFC 8536 (TZif), as those below `/usr/share/zoneinfo`.
package struct ZoneFile: Sendable, Hashable {
    /// The starts of the periods in seconds since 1970, in order, and the offsets that apply then.
    private var transitions: [Int64] = []
    private var offsets: [Int64] = []
    /// The offset before the first transition.
    private var first: Int64 = 0
    /// The rule after the last transition; nil for the last offset.
    private var rule: ZoneRule?

    /// The most transitions of a file; the longest have about 240.
    private static let transitionLimit = 10_000

    /// Reads the bytes of a file; nil if they are not a time zone.
    package init?(_ bytes: [UInt8]) {
        var reader = Reader(bytes: bytes[...])
        guard var header = reader.header() else { return nil }
        var width = 4
        if header.version >= UInt8(ascii: "2") {
            // The second part of the file has times of 64 bits.
            guard reader.skip(header.byteCount(width: 4)), let next = reader.header() else { return nil }
            header = next
            width = 8
        }
        guard header.transitionCount <= Self.transitionLimit, (1...256).contains(header.typeCount) else { return nil }
        for _ in 0..<header.transitionCount {
            guard let time = reader.integer(width), transitions.last.map({ $0 < time }) ?? true else { return nil }
            transitions.append(time)
        }
        guard let types = reader.take(header.transitionCount) else { return nil }
        var known: [Int64] = []
        for _ in 0..<header.typeCount {
            guard let offset = reader.integer(4), abs(offset) < 7 * 86_400, reader.skip(2) else { return nil }
            known.append(offset)
        }
        for type in types {
            guard known.indices.contains(Int(type)) else { return nil }
            offsets.append(known[Int(type)])
        }
        first = known.first ?? 0
        if width == 8 {
            guard reader.skip(header.restByteCount(width: 8)), reader.skip(1) else { return nil }
            let text = String(decoding: reader.bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
            if !text.isEmpty {
                guard let rule = ZoneRule(text) else { return nil }
                self.rule = rule
            }
        }
    }

    /// Returns the seconds that the zone is east of UTC at a number of seconds since 1970.
    package func offset(at time: Int64) -> Int64 {
        var (low, high) = (0, transitions.count)
        while low < high {
            let middle = (low + high) / 2
            if transitions[middle] <= time { low = middle + 1 } else { high = middle }
        }
        if low == transitions.count, let rule { return rule.offset(at: time) }
        return low == 0 ? first : offsets[low - 1]
    }

    /// Reads numbers in network order.
    private struct Reader {
        var bytes: ArraySlice<UInt8>

        struct Header {
            let version: UInt8
            /// The counts in the order of the file: UTC indicators, standard indicators, leap seconds,
            /// transitions, types, and characters of abbreviations.
            let counts: [Int]

            var transitionCount: Int { counts[3] }
            var typeCount: Int { counts[4] }

            func restByteCount(width: Int) -> Int { counts[5] + counts[2] * (width + 4) + counts[1] + counts[0] }
            func byteCount(width: Int) -> Int {
                transitionCount * (width + 1) + typeCount * 6 + restByteCount(width: width)
            }
        }

        mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
            guard count <= bytes.count else { return nil }
            defer { bytes = bytes.dropFirst(count) }
            return bytes.prefix(count)
        }

        mutating func skip(_ count: Int) -> Bool { take(count) != nil }

        mutating func integer(_ width: Int) -> Int64? {
            guard let bytes = take(width) else { return nil }
            let bits = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return width == 4 ? Int64(Int32(truncatingIfNeeded: bits)) : Int64(bitPattern: bits)
        }

        mutating func header() -> Header? {
            guard let magic = take(4), magic.elementsEqual("TZif".utf8), let version = take(1)?.first, skip(15) else {
                return nil
            }
            var counts: [Int] = []
            for _ in 0..<6 {
                guard let count = integer(4), (0...65_536).contains(count) else { return nil }
                counts.append(Int(count))
            }
            return Header(version: version, counts: counts)
        }
    }
}

/// The rule of a time zone in the form of the variable `TZ` of POSIX, such as `CET-1CEST,M3.5.0,M10.5.0/3`.
struct ZoneRule: Sendable, Hashable {
    private enum Day: Hashable {
        /// A day from 1 to 365; 29 February is not counted.
        case withoutLeapDay(Int)
        /// A day from 0 to 365.
        case ofYear(Int)
        /// A day of the week, from 0 for Sunday, in a week of a month; week 5 is the last.
        case ofMonth(month: Int, week: Int, weekday: Int)
    }

    private struct Change: Hashable {
        var day: Day
        /// The seconds after midnight.
        var time: Int64
    }

    private let standard: Int64
    private var summer: (offset: Int64, start: Change, end: Change)? {
        guard let summerOffset, let start, let end else { return nil }
        return (summerOffset, start, end)
    }
    private var summerOffset: Int64?
    private var start: Change?
    private var end: Change?

    init?(_ text: String) {
        var reader = Reader(text: text.utf8[...])
        // West of Greenwich is positive.
        guard reader.name(), let west = reader.time() else { return nil }
        standard = -west
        guard !reader.text.isEmpty else { return }
        guard reader.name() else { return nil }
        summerOffset = reader.text.first == UInt8(ascii: ",") ? standard + 3600 : reader.time().map { -$0 }
        guard summerOffset != nil, let start = reader.change(), let end = reader.change(), reader.text.isEmpty else {
            return nil
        }
        (self.start, self.end) = (start, end)
    }

    func offset(at time: Int64) -> Int64 {
        guard let summer else { return standard }
        let (sum, overflow) = time.addingReportingOverflow(standard)
        let year = UTCTime(seconds: overflow ? time : sum).day.year
        let start = Self.seconds(of: summer.start, in: year) - standard
        let end = Self.seconds(of: summer.end, in: year) - summer.offset
        let isSummer = start < end ? start <= time && time < end : !(end <= time && time < start)
        return isSummer ? summer.offset : standard
    }

    /// Returns the time of a change in a year, in seconds since 1970 by the clocks on the wall.
    private static func seconds(of change: Change, in year: Int) -> Int64 {
        guard let newYear = CalendarDay(year: year, month: 1, day: 1) else { return 0 }
        let day: CalendarDay
        switch change.day {
        case .ofYear(let number): day = newYear.adding(days: number)
        case .withoutLeapDay(let number):
            day = newYear.adding(days: number - (newYear.isInLeapYear && number >= 60 ? 0 : 1))
        case .ofMonth(let month, let week, let weekday):
            guard let first = CalendarDay(year: year, month: month, day: 1) else { return 0 }
            let offset = (weekday - first.weekday % 7 + 7) % 7 + 7 * (week - 1)
            day = first.adding(days: offset < first.daysInMonth ? offset : offset - 7)
        }
        return Int64(day.daysSinceEpoch) * 86_400 + change.time
    }

    private struct Reader {
        var text: Substring.UTF8View

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard text.first == UInt8(ascii: character) else { return false }
            text = text.dropFirst()
            return true
        }

        /// Skips an abbreviation.
        mutating func name() -> Bool {
            if take("<") {
                text = text.drop { $0 != UInt8(ascii: ">") }
                return take(">")
            }
            let count = text.count
            text = text.drop { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 }
            return count - text.count >= 3
        }

        mutating func number(upTo limit: Int) -> Int? {
            let digits = text.prefix(3).prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
            guard let number = Int(Substring(digits)), number <= limit else { return nil }
            text = text.dropFirst(digits.count)
            return number
        }

        /// Reads hours, which may have minutes and seconds, and returns the seconds.
        mutating func time() -> Int64? {
            let isNegative = take("-")
            if !isNegative { _ = take("+") }
            guard let hours = number(upTo: 167) else { return nil }
            var seconds = hours * 3600
            for unit in [60, 1] where take(":") {
                guard let part = number(upTo: 59) else { return nil }
                seconds += part * unit
            }
            return Int64(isNegative ? -seconds : seconds)
        }

        mutating func change() -> Change? {
            guard take(",") else { return nil }
            let day: Day
            if take("M") {
                guard let month = number(upTo: 12), month > 0, take("."), let week = number(upTo: 5), week > 0,
                    take("."), let weekday = number(upTo: 6)
                else { return nil }
                day = .ofMonth(month: month, week: week, weekday: weekday)
            } else if take("J") {
                guard let number = number(upTo: 365), number > 0 else { return nil }
                day = .withoutLeapDay(number)
            } else {
                guard let number = number(upTo: 365) else { return nil }
                day = .ofYear(number)
            }
            guard take("/") else { return Change(day: day, time: 7200) }
            return time().map { Change(day: day, time: $0) }
        }
    }
}
