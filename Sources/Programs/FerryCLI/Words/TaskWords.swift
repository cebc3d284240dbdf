import CivilTime
import CommandLineTool
import Control

/// The parser of the words of `add` and `set`: `+tag`, `-tag`, `key:value`, `FIELD=VALUE`, and
/// plain words.
///
/// A word with an unknown key, such as `https://…`, and a word with nothing directly after the
/// colon, such as `List: milk`, are plain. A leading backslash makes any word plain. No word is
/// dropped: one that cannot be parsed is an error.
struct TaskWords {
    private(set) var plain: [String] = []
    private(set) var change = TaskChange()
    private var given: Set<Key> = []

    private enum Key: String {
        case title
        case list
        case due
        case every
        /// The recurrence from the day of the last completion.
        case everyCompletion = "every!"
        case remind
        case priority
        case tag
        /// All tags at once, for `set` only.
        case tags
        /// Only for `set`.
        case completed

        init?(_ word: Substring, isChange: Bool) {
            let word = word.lowercased()
            guard let key = Key(rawValue: word == "pri" ? "priority" : word) else { return nil }
            if !isChange, key == .tags || key == .completed { return nil }
            self = key
        }
    }

    /// Parses the words of a new task. Known keys may occur between the words of the title.
    init(_ words: [String], due: DueWords) throws(UsageError) {
        change.today = due.today.description
        for word in words {
            if try takeMark(word, removesTags: false) { continue }
            guard let colon = word.firstIndex(of: ":"), let key = Key(word[..<colon], isChange: false),
                let first = word[word.index(after: colon)...].first, first != " "
            else {
                plain.append(word)
                continue
            }
            try take(key, String(word[word.index(after: colon)...]), due: due)
        }
        if let title = change.title, !plain.isEmpty {
            throw UsageError("The title is given twice, as '\(title)' and as '\(text)'.")
        }
    }

    /// Parses the changes of a task. Known fields may be written with `:` or `=`; any other
    /// `FIELD=VALUE` sets a custom field.
    init(changes words: [String], due: DueWords) throws(UsageError) {
        change.today = due.today.description
        for word in words {
            if try takeMark(word, removesTags: true) { continue }
            guard let mark = word.firstIndex(where: { $0 == ":" || $0 == "=" }), mark > word.startIndex else {
                plain.append(word)
                continue
            }
            let isKnown = word[mark] == ":" || word[..<mark] == word[..<mark].lowercased()
            if isKnown, let key = Key(word[..<mark], isChange: true) {
                try take(key, String(word[word.index(after: mark)...]), due: due)
            } else if let equals = word.firstIndex(of: "=") {
                let field = String(word[..<equals])
                guard change.texts.updateValue(String(word[word.index(after: equals)...]), forKey: field) == nil else {
                    throw UsageError("'\(field)' is given twice.")
                }
            } else {
                plain.append(word)
            }
        }
    }

    /// Parses `\word`, `+tag` and `-tag`.
    private mutating func takeMark(_ word: String, removesTags: Bool) throws(UsageError) -> Bool {
        guard let first = word.first, word.count > 1 else { return false }
        switch first {
        case "\\": plain.append(String(word.dropFirst()))
        case "+" where !word.contains(" "): change.addTags.append(String(word.dropFirst()))
        case "-" where removesTags && !word.contains(" "): change.removeTags.append(String(word.dropFirst()))
        default: return false
        }
        return true
    }

    private mutating func take(_ key: Key, _ value: String, due: DueWords) throws(UsageError) {
        guard key == .tag || given.insert(key).inserted else { throw UsageError("'\(key.rawValue)' is given twice.") }
        switch key {
        case .due: change.due = due.resolve(value)
        case .every, .everyCompletion:
            guard change.every == nil else { throw UsageError("'every' is given twice.") }
            change.every = value.lowercased() == "none" ? "" : value
            change.isFromCompletion = key == .everyCompletion
        case .remind: change.reminders = ReminderWords(due: due).reminders(value)
        case .list: change.list = value.lowercased() == "inbox" ? "" : value
        case .tag:
            guard !value.isEmpty else { throw UsageError("'tag' needs a value.") }
            change.addTags.append(value)
        case .tags:
            change.tags = value.split(separator: ",").map { $0.trimmed }.filter { !$0.isEmpty }
        case .title: change.title = value
        case .priority:
            guard let priority = TaskSummary.Priority(rawValue: value.isEmpty ? "none" : value.lowercased()) else {
                throw UsageError(
                    "There is no priority '\(value)'; use high, medium, low or none. A backslash before a word keeps it as text."
                )
            }
            change.priority = priority
        case .completed:
            switch value.lowercased() {
            case "true", "yes", "on": change.isCompleted = true
            case "false", "no", "off", "": change.isCompleted = false
            default: throw UsageError("'completed' is true or false, not '\(value)'.")
            }
        }
    }

    /// The plain words, as a title.
    var text: String { plain.joined(separator: " ") }
}

extension Substring {
    /// The text without spaces at its ends.
    fileprivate var trimmed: String {
        var rest = self
        while rest.first == " " { rest.removeFirst() }
        while rest.last == " " { rest.removeLast() }
        return String(rest)
    }
}
