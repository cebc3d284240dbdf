import CivilTime
import Testing

/// Counts days the long way, one after another: the calendar written again without arithmetic.
private struct CountedDays: Sequence, IteratorProtocol {
    static let years = 1600...2400
    private static let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    var (year, month, day) = (years.lowerBound, 1, 0)

    mutating func next() -> (year: Int, month: Int, day: Int)? {
        let isLeapYear = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0)
        day += 1
        if day > Self.lengths[month - 1] + (month == 2 && isLeapYear ? 1 : 0) { (month, day) = (month + 1, 1) }
        if month > 12 { (year, month) = (year + 1, 1) }
        return Self.years.contains(year) ? (year, month, day) : nil
    }
}

@Suite struct CivilTimeTests {
    @Test func `every day from 1600 to 2400 agrees with counting`() throws {
        let counted = Array(CountedDays())
        let epoch = try #require(counted.firstIndex { $0 == (1970, 1, 1) })
        for (index, (year, month, day)) in counted.enumerated() {
            let days = index - epoch
            guard let read = CalendarDay(year: year, month: month, day: day), read.daysSinceEpoch == days,
                // 1970-01-01 was a Thursday.
                let made = CalendarDay(daysSinceEpoch: days), made == read, made.weekday == ((days % 7 + 10) % 7) + 1
            else {
                Issue.record("\(year)-\(month)-\(day) is not day \(days)")
                return
            }
            // What the calendar does not have begins after each month's last day.
            if index + 1 < counted.count, counted[index + 1].day == 1 {
                #expect(CalendarDay(year: year, month: month, day: day + 1) == nil)
            }
        }
        #expect(CalendarDay(daysSinceEpoch: -719_162)?.description == "0001-01-01")
        #expect(CalendarDay(daysSinceEpoch: -719_163) == nil)
        #expect(CalendarDay(daysSinceEpoch: 2_932_896)?.description == "9999-12-31")
        #expect(CalendarDay(daysSinceEpoch: 2_932_897) == nil)
        #expect(CalendarDay(clampingDaysSinceEpoch: .max).description == "9999-12-31")
        #expect(CalendarDay(clampingDaysSinceEpoch: .min).description == "0001-01-01")
    }

    @Test func `every day from 1600 to 2400 comes back from each form`() throws {
        let names = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        var days = try #require(CalendarDay(year: 1600, month: 1, day: 1)).daysSinceEpoch
        // 1600-01-01 was a Saturday.
        var weekday = 5
        for (year, month, day) in CountedDays() {
            func pad(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
            let seconds = Int64(days) * 86_400 + 3723
            let forms = [
                "\(year)-\(pad(month))-\(pad(day))T01:02:03Z", "\(year)\(pad(month))\(pad(day))T010203Z",
                "\(names[weekday]), \(pad(day)) \(months[month - 1]) \(year) 01:02:03 GMT",
            ]
            let time = UTCTime(seconds: seconds)
            guard [time.rfc3339(fraction: .none), time.basic, time.imfFixdate] == forms, time.seconds == seconds,
                UTCTime(rfc3339: forms[0]) == time, UTCTime(basic: forms[1]) == time,
                UTCTime(imfFixdate: forms[2]) == time
            else {
                Issue.record("\(forms) is not \(time)")
                return
            }
            (days, weekday) = (days + 1, (weekday + 1) % 7)
        }
    }

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
            (
                -1, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999999Z",
                "1969-12-31T23:59:59.999999Z"
            ),
            (
                250_000, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.250Z", "1970-01-01T00:00:00.250Z",
                "1970-01-01T00:00:00.25Z"
            ),
            (
                Int64.max, "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999999Z",
                "9999-12-31T23:59:59.999999Z"
            ),
            (
                Int64.min, "0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z", "0001-01-01T00:00:00Z",
                "0001-01-01T00:00:00Z"
            ),
        ] as [(Int64, String, String, String, String)])
    func `fractions have the digits that were asked for`(
        microseconds: Int64, none: String, milliseconds: String, groups: String, shortest: String
    ) {
        let time = UTCTime(microseconds: microseconds)
        #expect(time.rfc3339(fraction: .none) == none)
        #expect(time.rfc3339(fraction: .milliseconds) == milliseconds)
        #expect(time.rfc3339(fraction: .groups) == groups)
        #expect(time.rfc3339(fraction: .shortest) == shortest)
        #expect(UTCTime(rfc3339: shortest) == time)
    }

    @Test func `seconds of a whole minute can be left out`() {
        #expect(UTCTime(seconds: 60).rfc3339(fraction: .shortest, omitsZeroSeconds: true) == "1970-01-01T00:01Z")
        #expect(UTCTime(seconds: 61).rfc3339(fraction: .shortest, omitsZeroSeconds: true) == "1970-01-01T00:01:01Z")
        #expect(
            UTCTime(microseconds: 500_000).rfc3339(fraction: .shortest, omitsZeroSeconds: true)
                == "1970-01-01T00:00:00.5Z")
    }

    @Test(
        arguments: [
            ("2026-11-30T17:00:00+01:00", 1_796_054_400_000_000), ("2026-11-30t16:00:00z", 1_796_054_400_000_000),
            ("2026-11-30T10:30:00.1234567-05:30", 1_796_054_400_123_456),
        ] as [(String, Int64)])
    func `offsets and finer fractions are read`(text: String, microseconds: Int64) {
        #expect(UTCTime(rfc3339: text)?.microseconds == microseconds)
    }

    @Test(arguments: [
        "", "2026-11-30", "2026-11-30T17:00:00", "2026-11-30T24:00:00Z", "2026-11-30T17:60:00Z", "2026-11-30T17:00:60Z",
        "2026-11-30T17:00:00.Z", "2026-11-30T17:00:00Zx", "2026-11-30T17:00:00+24:00", "2026-1-30T17:00:00Z",
        "2026-02-29T00:00:00Z", "+026-11-30T17:00:00Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01",
        "٢٠٢٦-11-30T17:00:00Z", "2026-11-30 17:00:00Z", "20261130T170000Z", "0000-12-31T00:00:00Z",
    ])
    func `text that is not RFC 3339 is rejected`(text: String) {
        #expect(UTCTime(rfc3339: text) == nil)
    }

    @Test func `a leap second and a day of one digit are read in header fields`() {
        #expect(UTCTime(imfFixdate: "Sun, 06 Nov 1994 08:49:37 GMT")?.seconds == 784_111_777)
        #expect(UTCTime(imfFixdate: "Sun, 6 Nov 1994 08:49:37 GMT")?.seconds == 784_111_777)
        #expect(UTCTime(imfFixdate: "Sat, 31 Dec 2016 23:59:60 GMT")?.seconds == 1_483_228_800)
        #expect(UTCTime(basic: "20161231T235960Z")?.seconds == 1_483_228_800)
    }

    @Test(arguments: [
        "", "yesterday", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 31 Foo 1994 08:49:37 GMT", "a b c d e GMT",
        "Fri, 99 May 2013 00:00:00 GMT", "Fri, 24 May 2013 00:00 GMT", "Fri, 30 Feb 2013 00:00:00 GMT",
        "Fri, 024 May 2013 00:00:00 GMT", "Fri, 24 May 13 00:00:00 GMT", "Fri, 24 May 2013 00:00:61 GMT",
        "Fri, 24 May 2013 0:00:00 GMT", "Fri, +4 May 2013 00:00:00 GMT", "Fri, 24 May 2013 00:00:00 GMT x",
    ])
    func `text that is no date of a header field is rejected`(text: String) {
        #expect(UTCTime(imfFixdate: text) == nil)
    }

    @Test(arguments: [
        "", "20240229", "20240229T235959", "20240230T000000Z", "20241301T000000Z", "20240229T240000Z",
        "2024022९T000000Z", "20240229t000000Z", "20240229T0000000Z",
    ])
    func `text that is not in the basic form is rejected`(text: String) {
        #expect(UTCTime(basic: text) == nil)
    }

    @Test func `a day is read and added to without leaving the valid range`() {
        #expect(CalendarDay("2026-11-30")?.adding(days: 1).description == "2026-12-01")
        #expect(CalendarDay("2024-03-01")?.adding(days: -1).description == "2024-02-29")
        #expect(CalendarDay("2024-03-01")?.adding(days: .max).description == "9999-12-31")
        #expect(CalendarDay("2024-03-01")?.adding(days: .min).description == "0001-01-01")
        for text in ["", "2026-2-30", "2026-02-30", "2026-11-300", "0000-01-01", "2026/11/30", "2026-11-30T"] {
            #expect(CalendarDay(text) == nil)
        }
    }
}
