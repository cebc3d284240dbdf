import CivilTime
import Recurrence
import Testing

@Suite("Recurrence rules")
struct RecurrenceRuleTests {
    @Test("Words become rules")
    func words() {
        let cases = [
            "3d": "FREQ=DAILY;INTERVAL=3", "2w": "FREQ=WEEKLY;INTERVAL=2", "month": "FREQ=MONTHLY", "1y": "FREQ=YEARLY",
            "weekday": "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "mon,Thursday": "FREQ=WEEKLY;BYDAY=MO,TH",
            "15": "FREQ=MONTHLY;BYMONTHDAY=15", "1,last": "FREQ=MONTHLY;BYMONTHDAY=-1,1",
            "freq=monthly;byday=-1fr": "FREQ=MONTHLY;BYDAY=-1FR",
        ]
        for (word, rule) in cases { #expect(RecurrenceWords.rule(word)?.description == rule, "\(word)") }
        for word in ["", "d", "0d", "3x", "mo", "32", "mon,", "moon", "99999d", "FREQ=HOURLY", "last,"] {
            #expect(RecurrenceWords.rule(word) == nil, "\(word)")
        }
    }

    @Test("Rules that the RFC forbids are refused")
    func refused() {
        for text in [
            "", "FREQ", "FREQ=DAILY;FREQ=DAILY", "INTERVAL=2", "FREQ=DAILY;INTERVAL=0",
            "FREQ=DAILY;COUNT=1;UNTIL=20260101",
            "FREQ=MONTHLY;BYWEEKNO=1", "FREQ=WEEKLY;BYMONTHDAY=1", "FREQ=MONTHLY;BYYEARDAY=1", "FREQ=WEEKLY;BYDAY=1MO",
            "FREQ=DAILY;BYSETPOS=1", "FREQ=DAILY;BYMONTH=13", "FREQ=DAILY;BYMONTH=", "FREQ=DAILY;UNTIL=20260231",
            "FREQ=DAILY;INTERVAL=9223372036854775807", "FREQ=DAILY;BYMONTHDAY=-9223372036854775808", "FREQ=DAILY;X=1",
        ] {
            #expect(throws: RecurrenceProblem.self, "\(text)") { try RecurrenceRule(parsing: text) }
        }
    }

    @Test("A rule without a day ends, and so does the calendar")
    func ends() throws {
        let start = try #require(CalendarDay("2026-11-28"))
        for text in [
            "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
            "FREQ=MONTHLY;BYMONTHDAY=31;BYMONTH=4",
        ] {
            var days = RecurrenceDays(try RecurrenceRule(parsing: text), from: start)
            #expect(days.next() == nil, "\(text)")
        }
        let last = try #require(CalendarDay("9999-12-30"))
        let days = Array(RecurrenceDays(RecurrenceRule(.daily), from: last))
        #expect(days.map(\.description) == ["9999-12-30", "9999-12-31"])
    }

    @Test("Month ends and leap days over 400 years")
    func monthEnds() throws {
        let start = try #require(CalendarDay("2000-01-31"))
        let rule = try RecurrenceRule(parsing: "FREQ=MONTHLY;BYMONTHDAY=-1")
        let ends = Array(RecurrenceDays(rule, from: start).prefix(4800))
        #expect(ends.count == 4800 && ends.allSatisfy { $0.adding(days: 1).day == 1 })
        let leap = RecurrenceDays(
            try RecurrenceRule(parsing: "FREQ=YEARLY"), from: try #require(CalendarDay("2000-02-29"))
        ).prefix { $0.year < 2400 }
        #expect(leap.count == 97 && leap.allSatisfy { $0.month == 2 && $0.day == 29 })
        let clamped = try #require(CalendarDay("2027-01-31"))
        #expect(RecurrenceRule(.monthly).clampedStep(from: clamped)?.description == "2027-02-28")
        let leapDay = try #require(CalendarDay("2028-02-29"))
        #expect(RecurrenceRule(.yearly).clampedStep(from: leapDay)?.description == "2029-02-28")
    }

    @Test("Skipping periods gives the same days as iterating")
    func skipping() throws {
        let start = try #require(CalendarDay("2020-01-31"))
        for text in [
            "FREQ=DAILY;INTERVAL=3", "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,WE", "FREQ=MONTHLY;INTERVAL=5", "FREQ=YEARLY",
        ] {
            let rule = try RecurrenceRule(parsing: text)
            for distance in [0, 1, 6, 7, 30, 31, 365, 366, 2000] {
                let day = start.adding(days: distance)
                var skipped = RecurrenceDays(rule, from: start)
                skipped.skip(before: day)
                let expected = RecurrenceDays(rule, from: start).first { $0 >= day }
                #expect(skipped.first { $0 >= day } == expected, "\(text) \(day)")
            }
        }
    }
}
