/// The words by which task files of other software say whether a task is done and how important it
/// is.
///
/// It is applied only when a task is shown, queried or changed by a command. Files and documents
/// keep the user's words, so machines with different vocabularies agree about them.
package struct TaskVocabulary: Sendable, Hashable {
    /// The meaning of a word of `status`.
    package enum Status: Sendable, Hashable {
        case open
        case done
        case cancelled
    }

    /// Words of `status` that belong together. The first of `open` and of `done` is the one that a
    /// command writes.
    package struct StatusRow: Sendable, Hashable {
        package var open: [String]
        package var done: [String]
        package var cancelled: [String]

        /// Creates a row.
        package init(open: [String], done: [String], cancelled: [String] = []) {
            self.open = open
            self.done = done
            self.cancelled = cancelled
        }
    }

    /// The words for a priority; nil in `priority` are words for none.
    package struct PriorityRow: Sendable, Hashable {
        package var priority: Priority?
        package var words: [String]

        /// Creates a row.
        package init(_ priority: Priority?, _ words: [String]) {
            self.priority = priority
            self.words = words
        }
    }

    /// The rows of `status`. A word counts as one of the first row that has it.
    package let statuses: [StatusRow]
    /// The rows of `priority`.
    package let priorities: [PriorityRow]
    private let statusByWord: [String: (status: Status, row: Int)]
    private let priorityByWord: [String: Priority?]

    /// The table in the documentation, `vocabulary.md`.
    package static let standard = TaskVocabulary(statuses: [], priorities: [])

    private static let standardStatuses = [
        // TaskNotes, Obsidian and most others.
        StatusRow(
            open: [
                "open", "in-progress", "none", "new", "next", "active", "started", "waiting", "blocked", "on-hold",
                "paused",
            ],
            done: ["done", "closed", "finished", "resolved"],
            cancelled: ["cancelled", "canceled", "dropped", "abandoned", "wontfix", "won't-do"]),
        StatusRow(
            open: ["todo", "to-do", "doing", "backlog", "inbox", "someday", "review", "in-review"], done: ["done"]),
        StatusRow(open: ["not-started"], done: ["done"]),
        // Taskwarrior.
        StatusRow(open: ["pending"], done: ["completed"]),
        // iCalendar.
        StatusRow(open: ["needs-action", "in-process"], done: ["completed"]),
        StatusRow(open: ["incomplete"], done: ["complete"]),
    ]

    private static let standardPriorities = [
        PriorityRow(.high, ["high", "urgent", "critical", "highest", "important", "h"]),
        PriorityRow(.medium, ["medium", "normal", "moderate", "m"]),
        PriorityRow(.low, ["low", "lowest", "minor", "trivial", "l"]),
        PriorityRow(nil, ["none"]),
    ]

    /// Creates a vocabulary with rows that come before those of `standard`.
    package init(statuses: [StatusRow], priorities: [PriorityRow]) {
        self.statuses = statuses + Self.standardStatuses
        self.priorities = priorities + Self.standardPriorities
        var statusByWord: [String: (status: Status, row: Int)] = [:]
        for (row, words) in self.statuses.enumerated() {
            for (status, words) in [(Status.open, words.open), (.done, words.done), (.cancelled, words.cancelled)] {
                for word in words where statusByWord[Self.key(word)] == nil {
                    statusByWord[Self.key(word)] = (status, row)
                }
            }
        }
        var priorityByWord: [String: Priority?] = [:]
        for row in self.priorities {
            for word in row.words where priorityByWord[Self.key(word)] == nil {
                priorityByWord[Self.key(word)] = .some(row.priority)
            }
        }
        self.statusByWord = statusByWord
        self.priorityByWord = priorityByWord
    }

    /// Returns the meaning of a word of `status`; nil if it is unknown.
    package func status(_ word: String) -> Status? { statusByWord[Self.key(word)]?.status }

    /// Returns the word that a command writes in place of `word` to complete or reopen a task, in
    /// the case of `word`; nil if `word` is unknown.
    package func word(for isCompleted: Bool, insteadOf word: String) -> String? {
        guard let row = statusByWord[Self.key(word)]?.row else { return nil }
        let new = isCompleted ? statuses[row].done.first : statuses[row].open.first
        return new.map { Self.inCase(of: word, $0) }
    }

    /// Returns the priority that a word stands for, which can be none; nil if the word is unknown.
    package func priority(_ word: String) -> Priority?? { priorityByWord[Self.key(word)] }

    /// Returns a word without regard to case, and with `-` for spaces and `_`.
    private static func key(_ word: String) -> String {
        String(word.lowercased().map { $0 == " " || $0 == "_" ? "-" : $0 })
    }

    private static func inCase(of old: String, _ new: String) -> String {
        guard new == new.lowercased(), let first = old.first, first.isUppercase else { return new }
        if old.count > 1, old == old.uppercased() { return new.uppercased() }
        return new.prefix(1).uppercased() + new.dropFirst()
    }

    /// Returns whether two vocabularies have the same rows.
    package static func == (left: TaskVocabulary, right: TaskVocabulary) -> Bool {
        left.statuses == right.statuses && left.priorities == right.priorities
    }

    /// Hashes the rows.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(statuses)
        hasher.combine(priorities)
    }
}
