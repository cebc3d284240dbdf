import CommandLineTool
import Control

/// Splits the words of `add`, `set` and `list`: `+tag`, `-tag`, `key:value`, and plain words.
///
/// Known keys are `due`, `priority`, `list`, `tag` and `title`. A word with another key, such as `https://…` or `Note: this`,
/// is a plain word; a leading backslash makes any word plain.
struct TaskWords {
    private(set) var plain: [String] = []
    private(set) var change = TaskChange()

    /// - Throws: `UsageError` for a known key with a value that cannot be.
    init(_ words: [String], due: DueWords, removesTags: Bool = false) throws(UsageError) {
        for word in words {
            if word.hasPrefix("\\"), word.count > 1 {
                plain.append(String(word.dropFirst()))
            } else if word.hasPrefix("+"), word.count > 1, !word.contains(" ") {
                change.addTags.append(String(word.dropFirst()))
            } else if removesTags, word.hasPrefix("-"), word.count > 1, !word.contains(" ") {
                change.removeTags.append(String(word.dropFirst()))
            } else if let colon = word.firstIndex(of: ":"), !word.contains(" ") || Self.takesText(word, colon) {
                try take(
                    word, key: word[..<colon].lowercased(), value: String(word[word.index(after: colon)...]), due: due)
            } else {
                plain.append(word)
            }
        }
    }

    /// Whether it is a key whose value may have spaces, as in `'title:Buy oat milk'`, and no plain text such as `Title: this`.
    private static func takesText(_ word: String, _ colon: String.Index) -> Bool {
        let value = word[word.index(after: colon)...]
        return ["title", "list"].contains(word[..<colon].lowercased()) && value.first.map { $0 != " " } ?? false
    }

    private mutating func take(_ word: String, key: String, value: String, due: DueWords) throws(UsageError) {
        switch key {
        case "due": change.due = due.resolve(value)
        case "list": change.list = value == "inbox" ? "" : value
        case "tag": change.addTags.append(value)
        case "title": change.title = value
        case "priority", "pri":
            guard let priority = TaskSummary.Priority(rawValue: value.lowercased()) else {
                throw UsageError("There is no priority '\(value)': high, medium, low or none.")
            }
            change.priority = priority
        default: plain.append(word)
        }
    }

    /// The plain words, as a title.
    var text: String { plain.joined(separator: " ") }
}
