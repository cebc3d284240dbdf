import CivilTime
import Recurrence

// Expands recurrence rules for Tests/recurrence.py. Each line of the input is `START LIMIT RULE`, with a start such as
// 2026-11-30; each line of the output has at most LIMIT days, or the problem of the rule after `!`.

while let line = readLine() {
    let words = line.split(separator: " ", maxSplits: 2)
    guard words.count == 3, let start = CalendarDay(words[0]), let limit = Int(words[1]) else {
        print("! not START LIMIT RULE")
        continue
    }
    do throws(RecurrenceProblem) {
        let days = RecurrenceDays(try RecurrenceRule(parsing: words[2]), from: start)
        print(days.lazy.prefix(limit).map(\.description).joined(separator: " "))
    } catch {
        print("! \(error)")
    }
}
