import CivilTime
import Control

/// A task line of Obsidian Tasks: `- [ ] Pay rent 🔁 every month ⏫ #home 📅 2026-12-01`.
///
/// The signs of dates, priorities and recurrences are read from the end of the line, as the plugin
/// does; tags may be anywhere and leave the title.
enum ObsidianLine {
    private static let dates: [(sign: String, field: String)] = [
        ("📅", "due"), ("📆", "due"), ("🗓", "due"), ("⏳", "scheduled"), ("⌛", "scheduled"), ("🛫", "start"),
        ("➕", "createdDate"), ("✅", "completedDate"), ("❌", "cancelledDate"),
    ]
    private static let priorities: [(sign: String, priority: TaskSummary.Priority, word: String?)] = [
        ("🔺", .high, "highest"), ("⏫", .high, nil), ("🔼", .medium, nil), ("🔽", .low, nil), ("⏬", .low, "lowest"),
    ]
    /// The marks of tasks in progress and of cancelled ones.
    private static let marks: [Character: String] = ["/": "in-progress", "-": "cancelled"]
    private static let others: [(sign: String, field: String)] = [
        ("🆔", "taskId"), ("⛔", "dependsOn"), ("🏁", "onCompletion"),
    ]
    private static let signs = dates.map(\.sign) + priorities.map(\.sign) + others.map(\.sign) + ["🔁"]

    /// Parses a line; nil for one that is no task.
    static func record(_ line: String) throws(RecordProblem) -> ImportRecord? {
        var rest = line.drop { $0 == " " || $0 == "\t" || $0 == ">" }
        guard let bullet = rest.first, "-*+0123456789".contains(bullet) else { return nil }
        rest = bullet.isNumber ? rest.drop { $0.isNumber }.dropFirst() : rest.dropFirst()
        rest = rest.drop { $0 == " " }
        guard rest.first == "[", rest.dropFirst(2).first == "]", let mark = rest.dropFirst().first else { return nil }
        rest = rest.dropFirst(3)
        guard rest.first == " " else { return nil }
        var record = ImportRecord(name: "", change: TaskChange(), key: "")
        record.change.isCompleted = mark == "x" || mark == "X"
        if mark != " ", mark != "x", mark != "X" {
            let word = marks[mark] ?? String(mark)
            record.change.texts["status"] = word
            record.changes.append("its mark [\(mark)] is '\(word)' in the field status")
            // The word says whether the task is open.
            record.change.isCompleted = nil
        }
        var recurrence: String?
        var words = rest.replacing("\u{FE0F}", with: "").split(separator: " ").map(String.init)
        words = words.flatMap(separated)
        while let place = words.lastIndex(where: signs.contains) {
            let value = words[(place + 1)...].filter { !$0.hasPrefix("#") }.joined(separator: " ")
            let tags = words[(place + 1)...].filter { $0.hasPrefix("#") }
            guard take(words[place], value, &record, &recurrence) else { break }
            words = words[..<place] + tags
        }
        for word in words where word.hasPrefix("#") && word.count > 1 {
            let tag = String(word.dropFirst())
            if !record.change.addTags.contains(tag) { record.change.addTags.append(tag) }
        }
        let title = words.filter { !($0.hasPrefix("#") && $0.count > 1) }.joined(separator: " ")
        record.change.title = title.isEmpty ? words.joined(separator: " ") : title
        record.name = record.change.title ?? ""
        guard !record.name.isEmpty else { throw RecordProblem("It has no words.") }
        if let recurrence {
            if let (rule, isFromCompletion) = ExchangeRecurrence.obsidian(recurrence) {
                record.setRecurrence(rule, isFromCompletion: isFromCompletion)
            } else {
                record.change.texts["repeats"] = recurrence
                record.changes.append("'\(recurrence)' is not understood; it is kept as a field")
            }
        }
        return record
    }

    /// Splits a word where a sign is next to its value.
    private static func separated(_ word: String) -> [String] {
        for sign in signs where word != sign && word.hasPrefix(sign) {
            return [sign, String(word.dropFirst(sign.count))]
        }
        return [word]
    }

    /// Takes a sign and its value; false if the value is not one of its kind.
    private static func take(
        _ sign: String, _ value: String, _ record: inout ImportRecord, _ recurrence: inout String?
    ) -> Bool {
        if let field = dates.first(where: { $0.sign == sign })?.field {
            guard CalendarDay(value) != nil else { return false }
            // What another one of its kind would hide stays in the title.
            guard field == "due" ? record.change.due == nil : record.change.texts[field] == nil else { return false }
            if field == "due" { record.change.due = value } else { record.change.texts[field] = value }
        } else if let (_, priority, word) = priorities.first(where: { $0.sign == sign }) {
            guard value.isEmpty, record.change.priority == nil else { return false }
            record.change.priority = priority
            if let word {
                record.change.texts["obsidianPriority"] = word
                record.changes.append("priority \(word) is \(priority.rawValue) here; a field keeps the word")
            }
        } else if let field = others.first(where: { $0.sign == sign })?.field {
            guard !value.isEmpty, record.change.texts[field] == nil else { return false }
            record.change.texts[field] = value
        } else {
            guard !value.isEmpty, recurrence == nil else { return false }
            recurrence = value
        }
        return true
    }
}
