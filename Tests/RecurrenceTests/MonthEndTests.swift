import CivilTime
import Recurrence
import Testing

/// Rules at the ends of months and on leap days, over the 400 years after which the calendar repeats.
@Suite("Month ends and leap days")
struct MonthEndTests {
    private static let first = "2000-01-01"
    private static let length = 146_097

    /// Compares a rule with every day of 400 years that passes a test.
    private func check(_ text: String, from start: String = first, _ isDay: (CalendarDay) -> Bool) throws -> Int {
        let start = try #require(CalendarDay(start))
        let first = try #require(CalendarDay(Self.first))
        let end = first.adding(days: Self.length)
        var found: [CalendarDay] = []
        for day in RecurrenceDays(try RecurrenceRule(parsing: text), from: start) {
            if day >= end { break }
            found.append(day)
        }
        let expected = (0..<Self.length).map { first.adding(days: $0) }.filter { $0 >= start && isDay($0) }
        #expect(found == expected, "\(text)")
        return found.count
    }

    @Test("The last day of every month")
    func lastDays() throws {
        #expect(try check("FREQ=MONTHLY;BYMONTHDAY=-1") { $0.day == $0.daysInMonth } == 4800)
        #expect(try check("FREQ=MONTHLY;BYMONTHDAY=-31") { $0.day == 1 && $0.daysInMonth == 31 } == 2800)
        #expect(try check("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=-1") { $0.month == 2 && $0.day == $0.daysInMonth } == 400)
    }

    @Test("A day that only some months have is skipped in the others, and never drifts")
    func longMonths() throws {
        #expect(try check("FREQ=MONTHLY", from: "2000-01-31") { $0.day == 31 } == 2800)
        #expect(try check("FREQ=MONTHLY", from: "2000-01-30") { $0.day == 30 } == 4400)
        #expect(try check("FREQ=MONTHLY;BYMONTHDAY=29") { $0.day == 29 } == 4497)
    }

    @Test("29 February is in 97 of 400 years, not in 2100, 2200 and 2300")
    func leapDays() throws {
        #expect(try check("FREQ=YEARLY", from: "2000-02-29") { $0.month == 2 && $0.day == 29 } == 97)
        #expect(try check("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=29") { $0.month == 2 && $0.day == 29 } == 97)
        #expect(try check("FREQ=YEARLY;BYYEARDAY=366") { $0.month == 12 && $0.day == 31 && $0.isInLeapYear } == 97)
        #expect(try check("FREQ=YEARLY;BYYEARDAY=-1") { $0.month == 12 && $0.day == 31 } == 400)
        #expect(
            try check("FREQ=YEARLY;INTERVAL=4", from: "2096-02-29") { $0.month == 2 && $0.day == 29 && $0.year >= 2096 }
                == 73)
    }

    @Test("From the completion, the end of a month stands for a day that the month lacks")
    func clampedSteps() throws {
        let first = try #require(CalendarDay(Self.first))
        for (text, months) in [("FREQ=MONTHLY", 1), ("FREQ=MONTHLY;INTERVAL=3", 3), ("FREQ=YEARLY", 12)] {
            let rule = try RecurrenceRule(parsing: text)
            for offset in 0..<Self.length {
                let day = first.adding(days: offset)
                let month = day.year * 12 + day.month - 1 + months
                let start = try #require(CalendarDay(year: month / 12, month: month % 12 + 1, day: 1))
                let expected = start.adding(days: min(day.day, start.daysInMonth) - 1)
                if rule.clampedStep(from: day) != expected { Issue.record("\(text) from \(day)") }
            }
        }
    }
}
