import Control

/// One line of a todo.txt file (the format of todotxt.org): `x 2026-11-21 (A) 2026-11-01 Call Anna +work @phone due:2026-12-01`.
struct TodoLine {
    /// nil for a line without text.
    static func task(_ line: String) -> TaskChange? {
        var words = line.split(whereSeparator: \.isWhitespace).map(String.init)[...]
        var change = TaskChange()
        if words.first == "x" {
            change.isCompleted = true
            words = words.dropFirst()
        }
        while let word = words.first, let taken = takenPrefix(word) {
            if let priority = taken.priority { change.priority = priority }
            words = words.dropFirst()
        }
        var title: [String] = []
        for word in words {
            if let first = word.first, "+@".contains(first), word.count > 1 {
                let tag = String(word.dropFirst())
                if !change.addTags.contains(tag) { change.addTags.append(tag) }
            } else if word.hasPrefix("due:"), word.count > 4 {
                change.due = String(word.dropFirst(4))
            } else if word.hasPrefix("pri:"), let priority = priority(word.dropFirst(4)) {
                // Where a completed task keeps its priority.
                change.priority = priority
            } else {
                title.append(word)
            }
        }
        guard !title.isEmpty else { return nil }
        change.title = title.joined(separator: " ")
        return change
    }

    /// A priority or a date before the text.
    private static func takenPrefix(_ word: String) -> (priority: TaskSummary.Priority?, Void)? {
        if word.count == 3, word.hasPrefix("("), word.hasSuffix(")"),
            let priority = priority(word.dropFirst().dropLast())
        {
            return (priority, ())
        }
        let parts = word.split(separator: "-", omittingEmptySubsequences: false)
        let isDate = parts.map(\.count) == [4, 2, 2] && parts.allSatisfy { $0.allSatisfy(\.isNumber) }
        return isDate ? (nil, ()) : nil
    }

    /// A is high, B medium, all later letters low.
    private static func priority(_ letter: Substring) -> TaskSummary.Priority? {
        guard letter.count == 1, let character = letter.first, ("A"..."Z").contains(character) else { return nil }
        return character == "A" ? .high : character == "B" ? .medium : .low
    }
}
