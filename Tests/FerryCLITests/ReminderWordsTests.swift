import CivilTime
import SystemIO
import Testing

@testable import FerryCLI

@Suite("Reminders in words")
struct ReminderWordsTests {
    private var words: ReminderWords {
        get throws { ReminderWords(due: DueWords(today: try #require(CalendarDay("2026-11-28")))) }
    }

    @Test(
        arguments: [
            ("30m", ["-PT30M"]), ("1d,2h", ["-P1D", "-PT2H"]), ("1w", ["-P1W"]), ("0", ["PT0M"]), ("due", ["PT0M"]),
            ("none", []), ("default", ["default"]), ("", ["default"]), ("fri 17:00", ["2026-12-04T17:00"]),
            ("tomorrow, 10m", ["2026-11-29", "-PT10M"]), ("2026-12-01T09:00", ["2026-12-01T09:00"]),
            ("-PT5M", ["-PT5M"]),
            ("moon", ["moon"]), ("0m", ["0m"]), ("9999999999m", ["9999999999m"]),
        ] as [(String, [String])])
    func `reminders are read`(_ word: String, _ expected: [String]) throws {
        #expect(try words.reminders(word) == expected)
    }

    @Test func `snoozes are read`() throws {
        let (words, now) = (try words, try #require(UTCTime(rfc3339: "2026-11-28T12:00:00Z")).seconds)
        #expect(words.snooze("10m", now: now) == "2026-11-28T12:10:00Z")
        #expect(words.snooze("+1h", now: now) == "2026-11-28T13:00:00Z")
        #expect(words.snooze("2d", now: now) == "2026-11-30T12:00:00Z")
        #expect(words.snooze("none", now: now) == "")
        #expect(words.snooze("2026-11-30T17:00:00+01:00", now: now) == "2026-11-30T16:00:00Z")
        for (word, day, second) in [("tomorrow", "2026-11-29", 9 * 3600), ("fri 17:30", "2026-12-04", 63_000)] {
            let local = LocalTime.seconds(on: try #require(CalendarDay(day)), second: second)
            #expect(words.snooze(word, now: now) == local.map { UTCTime(seconds: $0).rfc3339(fraction: .none) })
        }
        for word in ["", "soon", "0m", "-5m", "2026-13-01", "2026-11-30Tx", "99999999999999999999h"] {
            #expect(words.snooze(word, now: now) == nil, "\(word)")
        }
    }
}
