import CivilTime
import SystemIO

/// A date, or a time on the clock with or without an offset from UTC, as formats of tasks write them.
struct ExchangeDate: Hashable {
    var day: CalendarDay
    /// The seconds since midnight; nil for a date.
    var second: Int?
    /// The seconds that the time's zone is east of UTC; nil for a time on the clock, wherever it is.
    var offset: Int?

    /// Parses the form of `due` in files: `2026-12-01`, `2026-12-01T17:00`, or either with seconds and
    /// an offset. Nil for any other text.
    init?(_ text: String) {
        guard let day = CalendarDay(text.prefix(10)) else { return nil }
        self.day = day
        var rest = text.dropFirst(10)
        if rest.isEmpty { return }
        guard rest.first == "T" || rest.first == " " else { return nil }
        rest = rest.dropFirst()
        guard let hour = Self.number(&rest, below: 24), rest.first == ":" else { return nil }
        rest = rest.dropFirst()
        guard let minute = Self.number(&rest, below: 60) else { return nil }
        second = hour * 3600 + minute * 60
        if rest.first == ":" {
            rest = rest.dropFirst()
            guard let seconds = Self.number(&rest, below: 60) else { return nil }
            second = hour * 3600 + minute * 60 + seconds
        }
        if rest.isEmpty { return }
        if rest == "Z" {
            offset = 0
            return
        }
        guard let sign = rest.first, sign == "+" || sign == "-" else { return nil }
        rest = rest.dropFirst()
        guard let hours = Self.number(&rest, below: 24) else { return nil }
        if rest.first == ":" { rest = rest.dropFirst() }
        guard let minutes = Self.number(&rest, below: 60), rest.isEmpty else { return nil }
        offset = (hours * 3600 + minutes * 60) * (sign == "-" ? -1 : 1)
    }

    /// Parses the basic form of iCalendar and Taskwarrior: `20261201`, `20261201T170000`, or with `Z`.
    /// A time in UTC becomes one of this machine's zone.
    ///
    /// - Parameter midnightIsDate: Whether midnight of this machine's zone, given in UTC, is a date.
    init?(basic text: some StringProtocol, midnightIsDate: Bool = false) {
        let digits = Array(text.utf8)
        guard digits.count == 8 || digits.count == 15 || digits.count == 16 && digits[15] == UInt8(ascii: "Z") else {
            return nil
        }
        func number(_ range: Range<Int>) -> Int? {
            guard digits[range].allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) else { return nil }
            return digits[range].reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        }
        guard let year = number(0..<4), let month = number(4..<6), let date = number(6..<8),
            let day = CalendarDay(year: year, month: month, day: date)
        else { return nil }
        self.day = day
        guard digits.count > 8 else { return }
        guard digits[8] == UInt8(ascii: "T"), let hour = number(9..<11), let minute = number(11..<13),
            let seconds = number(13..<15), hour < 24, minute < 60, seconds < 60
        else { return nil }
        second = hour * 3600 + minute * 60 + seconds
        guard digits.count == 16 else { return }
        let moment = Int64(day.daysSinceEpoch) * UTCTime.secondsPerDay + Int64(second ?? 0)
        guard let local = LocalTime(seconds: moment) else { return nil }
        self.day = local.day
        second = local.hour * 3600 + local.minute * 60 + local.second
        offset = local.offset
        if midnightIsDate, second == 0 { (second, offset) = (nil, nil) }
    }

    /// Creates a time on the clock from seconds since 1970, as if the clock showed UTC.
    init(local: Int64) {
        let time = UTCTime(seconds: local)
        day = time.day
        second = Int(time.microsecondOfDay / 1_000_000)
    }

    /// The form of `due` in files.
    var text: String {
        guard let second else { return day.description }
        let seconds = second % 60 == 0 ? "" : ":" + (second % 60).twoDigits
        let clock = "\((second / 3600).twoDigits):\((second / 60 % 60).twoDigits)\(seconds)"
        guard let offset else { return "\(day)T\(clock)" }
        if offset == 0 { return "\(day)T\(clock)Z" }
        let minutes = abs(offset) / 60
        return "\(day)T\(clock)\(offset < 0 ? "-" : "+")\((minutes / 60).twoDigits):\((minutes % 60).twoDigits)"
    }

    /// The basic form: a date, a time in UTC if the offset is known, or a time without a zone.
    var basic: String {
        guard let second else { return Self.basic(day) }
        guard let offset else { return "\(Self.basic(day))T\(Self.clock(second))" }
        return Self.utc(Int64(day.daysSinceEpoch) * UTCTime.secondsPerDay + Int64(second - offset))
    }

    /// The basic form in UTC of the moment on this machine, or in the zone of a time without an offset.
    /// A date is its first moment.
    func basicUTC(in zone: ZoneOffsets? = nil) -> String {
        if offset != nil { return basic }
        if let zone, let second {
            return Self.utc(zone.instant(ofLocal: Int64(day.daysSinceEpoch) * UTCTime.secondsPerDay + Int64(second)))
        }
        guard let moment = LocalTime.seconds(on: day, second: second ?? 0) else { return basic }
        return Self.utc(moment)
    }

    private static func utc(_ moment: Int64) -> String {
        let time = UTCTime(seconds: moment)
        return "\(basic(time.day))T\(clock(Int(time.microsecondOfDay / 1_000_000)))Z"
    }

    private static func basic(_ day: CalendarDay) -> String { day.description.filter { $0 != "-" } }

    private static func clock(_ second: Int) -> String {
        (second / 3600).twoDigits + (second / 60 % 60).twoDigits + (second % 60).twoDigits
    }

    /// Reads two digits.
    private static func number(_ text: inout Substring, below limit: Int) -> Int? {
        let digits = text.prefix(2)
        guard digits.utf8.count == 2, digits.allSatisfy({ ("0"..."9").contains($0) }), let number = Int(digits),
            number < limit
        else { return nil }
        text = text.dropFirst(2)
        return number
    }
}
