import CivilTime
import Foundation
import Testing

@Suite("Weeks and positions of days")
struct CalendarWeekTests {
    @Test("Weeks and positions agree with Foundation for 400 years")
    func foundation() throws {
        var calendar = Calendar(identifier: .iso8601)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        let first = try #require(CalendarDay(year: 1900, month: 1, day: 1)).daysSinceEpoch
        var wrong: [CalendarDay] = []
        for number in first..<(first + 146_097) {
            let day = try #require(CalendarDay(daysSinceEpoch: number))
            let date = Date(timeIntervalSince1970: Double(number) * 86_400)
            if calendar.component(.weekOfYear, from: date) != day.week(startingOn: 1).number { wrong.append(day) }
        }
        #expect(wrong.isEmpty)
    }

    @Test("The number of weeks is that of the week's year, and weeks may start on another day")
    func counts() throws {
        let cases = [
            ("2039-01-02", 1, 52, 52), ("2020-12-31", 1, 53, 53), ("2021-01-03", 1, 53, 53), ("2031-12-29", 1, 1, 53),
            ("1997-05-12", 1, 20, 52), ("1998-05-18", 7, 20, 52), ("1997-05-19", 5, 20, 52),
        ]
        for (text, start, number, count) in cases {
            let week = try #require(CalendarDay(text)).week(startingOn: start)
            #expect(week == (number, count), "\(text)")
        }
    }

    @Test("Positions in months and years")
    func positions() throws {
        let day = try #require(CalendarDay("2028-12-31"))
        #expect(day.dayOfYear == 366 && day.isInLeapYear && day.daysInMonth == 31)
        #expect(try #require(CalendarDay("0001-01-01")).dayOfYear == 1)
        #expect(try #require(CalendarDay("2027-02-01")).daysInMonth == 28)
    }
}
