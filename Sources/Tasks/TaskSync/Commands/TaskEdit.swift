package import TaskModel

/// What to make or change of a task; nil leaves a field as it is.
package struct TaskEdit: Sendable {
    package var title: String?
    /// A list's name, empty for the default list; a new name makes a list.
    package var listName: String?
    package var isCompleted: Bool?
    package var priority: Priority??
    package var due: Due??
    /// Replaces all tags.
    package var tags: [String]?
    package var addTags: [String] = []
    package var removeTags: [String] = []
    package var notes: String?
    /// Custom fields as YAML source; empty text removes the field.
    package var fields: [String: String] = [:]

    package init() {}

    /// The task with the edit applied, but for its list.
    func applied(to item: TaskItem) throws -> TaskItem {
        var item = item
        if let title { item.title = title }
        if let isCompleted { item.completed = isCompleted }
        if let priority { item.priority = priority }
        if let due { item.due = due }
        if let tags { item.tags = tags }
        for tag in addTags where !item.tags.contains(tag) { item.tags.append(tag) }
        item.tags.removeAll { removeTags.contains($0) }
        if let notes {
            let isEnded = notes.isEmpty || notes.utf8.last == UInt8(ascii: "\n")
            item.notes = NotesEditor.notes(item.notes, changedTo: isEnded ? notes : notes + "\n")
        }
        guard !fields.isEmpty else { return item }
        // A custom field means what it would mean in a file, so it is read as one.
        let lines = fields.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)\n" }
        let file = try TaskFile(parsing: Array("---\n\(lines.joined())---\n".utf8), named: "edit.md")
        for (key, text) in fields { item.fields[key] = text.isEmpty ? nil : file.item.fields[key] }
        return item
    }
}

/// A command about something that is not there.
package struct TaskSyncError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable {
        case notFound
        case invalid
        /// The directory is held; nothing can be written.
        case held
        /// More than a limit allows; the message says which, and how much of it is used.
        case tooLarge
        /// The disk has too little room; the message says how much.
        case noSpace
        /// The server cannot be reached.
        case offline
        /// The server does not allow it.
        case refused
    }

    package let code: Code
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
