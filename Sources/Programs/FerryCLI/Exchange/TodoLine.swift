import CivilTime
import Control
import Recurrence

/// A line of a todo.txt file (the format of todotxt.org), such as
/// `x 2026-11-21 (A) 2026-11-01 Call Anna +work @phone due:2026-12-01`.
///
/// Priority A is high, B is medium, and later letters are low; from D on the letter is kept in the
/// field `todoPriority`. A project `+work` becomes the tag `work`, a context `@phone` the tag
/// `@phone`. The two dates before the text become the fields `completedDate` and `createdDate`, and
/// `t:` becomes `scheduled`. `rec:1w` recurs a week after each completion, `rec:+1w` a week after each
/// due date.
/// Every other word stays in the title.
enum TodoLine {
    /// Parses a line; returns nil for a line without words.
    static func record(_ line: String) -> ImportRecord? {
        var words = line.split { $0 == " " || $0 == "\t" }.map(String.init)[...]
        guard !words.isEmpty else { return nil }
        var change = TaskChange()
        var changes: [String] = []
        if words.first == "x", words.count > 1 {
            change.isCompleted = true
            words = words.dropFirst()
        }
        var letter: Character?
        var recurrence: (rule: RecurrenceRule, isFromCompletion: Bool)?
        var dates: [String] = []
        while let word = words.first, words.count > 1 {
            if letter == nil, let found = priority(word) {
                letter = found
            } else if isDate(word), dates.count < (change.isCompleted == true ? 2 : 1) {
                dates.append(word)
            } else {
                break
            }
            words = words.dropFirst()
        }
        if change.isCompleted == true, !dates.isEmpty { change.texts["completedDate"] = dates.removeFirst() }
        if let created = dates.first { change.texts["createdDate"] = created }
        var title: [String] = []
        for word in words {
            if let tag = tag(word) {
                if !change.addTags.contains(tag) { change.addTags.append(tag) }
            } else if word.hasPrefix("due:"), isMoment(word.dropFirst(4)) {
                if change.due == nil {
                    change.due = String(word.dropFirst(4))
                } else {
                    changes.append("'\(word)' stays in the title, because a task has one due date")
                    title.append(word)
                }
            } else if word.hasPrefix("t:"), change.texts["scheduled"] == nil, isDate(String(word.dropFirst(2))) {
                change.texts["scheduled"] = String(word.dropFirst(2))
            } else if word.hasPrefix("rec:"), recurrence == nil, let found = ExchangeRecurrence.todo(word.dropFirst(4))
            {
                recurrence = found
            } else if word.hasPrefix("pri:"), letter == nil, let found = priority("(\(word.dropFirst(4)))") {
                // Completed tasks keep their priority in this form.
                letter = found
            } else {
                title.append(word)
            }
        }
        if let letter {
            change.priority = letter == "A" ? .high : letter == "B" ? .medium : .low
            if letter > "C" {
                change.texts["todoPriority"] = String(letter)
                changes.append("priority \(letter) is low here; the field todoPriority keeps the letter")
            }
        }
        if title.isEmpty {
            title = Array(words)
            changes.append("its tags are its title, because it has no other words")
        }
        change.title = title.joined(separator: " ")
        var record = ImportRecord(name: change.title ?? line, change: change, changes: changes, key: "")
        if let (rule, isFromCompletion) = recurrence { record.setRecurrence(rule, isFromCompletion: isFromCompletion) }
        return record
    }

    private static func tag(_ word: String) -> String? {
        guard word.count > 1 else { return nil }
        return word.hasPrefix("+") ? String(word.dropFirst()) : word.hasPrefix("@") ? word : nil
    }

    /// Returns the letter of a word such as `(A)`.
    private static func priority(_ word: String) -> Character? {
        guard word.count == 3, word.hasPrefix("("), word.hasSuffix(")"), let letter = word.dropFirst().first,
            ("A"..."Z").contains(letter)
        else { return nil }
        return letter
    }

    /// Whether the word is a date, or a date with a time of day.
    private static func isMoment(_ word: Substring) -> Bool {
        guard isDate(String(word.prefix(10))) else { return false }
        let time = word.dropFirst(10).split(separator: ":", omittingEmptySubsequences: false)
        guard word.count > 10 else { return true }
        guard time.count == 2, time[0].count == 3, time[0].hasPrefix("T"), time[1].count == 2,
            let hour = Int(time[0].dropFirst()), let minute = Int(time[1])
        else { return false }
        return (0..<24).contains(hour) && (0..<60).contains(minute)
    }

    private static func isDate(_ word: String) -> Bool { CalendarDay(word) != nil }
}
