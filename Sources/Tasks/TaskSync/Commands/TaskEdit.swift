import CivilTime
package import DocumentModel
package import TaskModel

/// The contents of a new task, or the changes of a task; nil leaves a field unchanged.
package struct TaskEdit: Sendable {
    package var title: String?
    /// A list's name; empty for the default list. The list is created if there is none.
    package var listName: String?
    package var isCompleted: Bool?
    package var priority: Priority??
    package var due: Due??
    /// The tags that replace all others.
    package var tags: [String]?
    package var addTags: [String] = []
    package var removeTags: [String] = []
    package var notes: String?
    /// The numbers of items of the checklist in the notes that become done, and of those that
    /// become open, counted from 1.
    package var ticks: [Int] = []
    package var unticks: [Int] = []
    /// Custom fields as YAML source; empty text removes the field.
    package var fields: [String: String] = [:]
    /// Custom fields as text, quoted as YAML needs; empty text removes the field.
    package var texts: [String: String] = [:]
    /// Whether the current occurrence of a recurring task is skipped.
    package var skipsOccurrence = false
    /// The recurrence; nil in it ends the recurrence.
    package var recurrence: TaskSeries??
    /// The reminders; nil in it removes the list, so that the default applies.
    package var reminders: [Reminder]??
    /// The snooze of the reminders, or its end.
    package var snooze: Snooze?
    /// The day of the user's action.
    package var today: CivilDate?
    /// Whether the occurrence that is completed is kept as a task of its own.
    package var archivesOccurrence = false
    /// The front matter with its fences of the file from which a new task is imported. Other
    /// members of the edit override it.
    package var head: String?
    /// The name, without `.md`, of the file from which a new task is imported.
    package var fileName: String?
    /// The id of a new task in the program from which it is imported. A task that was added with
    /// this key, on any machine of the account, is not added again.
    package var importKey: String?
    /// Whether a new task is only checked, and not created.
    package var isTrial = false

    /// A snooze of the reminders by one user.
    package struct Snooze: Sendable {
        package var user: UserID
        /// The time at which the task is shown again; nil ends the snooze.
        package var until: Timestamp?

        package init(user: UserID, until: Timestamp?) {
            self.user = user
            self.until = until
        }
    }

    package init() {}

    /// Returns the new task without its list, and the file from which it is imported, if there is
    /// one.
    ///
    /// - Throws: `TaskFileProblem` if `head` is not valid front matter.
    func newTask(in vocabulary: TaskVocabulary) throws -> (TaskItem, TaskFile?) {
        guard head != nil || fileName != nil else {
            guard let title, !title.isEmpty else { throw TaskSyncError(.invalid, "A task needs a title.") }
            return (try applied(to: TaskItem(title: title), in: vocabulary), nil)
        }
        guard let name = fileName ?? title, !name.isEmpty else {
            throw TaskSyncError(.invalid, "A task needs a title.")
        }
        let file = try TaskFile(
            parsing: Array((head ?? "").utf8) + Array((notes ?? "").utf8), named: name + TaskFileName.suffix)
        var rest = self
        // The notes are kept byte for byte, without the line break that a command's text may lack.
        rest.notes = nil
        return (try rest.applied(to: file.item, in: vocabulary), file)
    }

    /// Returns the task with the edit applied, except for its list.
    func applied(to original: TaskItem, in vocabulary: TaskVocabulary) throws -> TaskItem {
        var item = original
        if let title { item.title = title }
        if let priority { item.setPriority(priority, in: vocabulary) }
        if let due { item.setDue(due) }
        if let tags { item.setTags(tags) }
        if !addTags.isEmpty, tags == nil, item.fields["tags"] != nil {
            throw TaskSyncError(
                .invalid,
                "The tags in the file of '\(item.title)' are not understood, and a new one would hide them; mend them.")
        }
        if !addTags.isEmpty || !removeTags.isEmpty { item.changeTags(adding: addTags, removing: removeTags) }
        if let notes {
            let isEnded = notes.isEmpty || notes.utf8.last == UInt8(ascii: "\n")
            item.notes = NotesEditor.notes(item.notes, changedTo: isEnded ? notes : notes + "\n")
        }
        try applyTicks(to: &item)
        if !fields.isEmpty { try item.setFields(sources: fields) }
        for (key, text) in texts.sorted(by: { $0.key < $1.key }) { try item.setField(key, toText: text) }
        try applyRecurrence(to: &item, of: original, in: vocabulary)
        if let reminders {
            guard item.anyDue != nil || !(reminders ?? []).contains(where: \.needsDue) else {
                throw TaskSyncError(
                    .invalid, "'\(item.title)' has no due date to remind before; set one, or remind at a date or time.")
            }
            item.setReminders(reminders)
        }
        if let snooze {
            guard snooze.until == nil || !item.isCompleted(in: vocabulary) else {
                throw TaskSyncError(.invalid, "'\(item.title)' is completed, so it has no reminders.")
            }
            item.snooze(until: snooze.until, for: snooze.user)
        }
        return item
    }

    private func applyTicks(to item: inout TaskItem) throws {
        guard !ticks.isEmpty || !unticks.isEmpty else { return }
        var checklist = Checklist(item.notes)
        guard checklist.mark(ticks, isDone: true), checklist.mark(unticks, isDone: false) else {
            throw TaskSyncError(
                .invalid,
                checklist.items.isEmpty
                    ? "The notes of '\(item.title)' have no items '- [ ] …'."
                    : "The checklist of '\(item.title)' has the items 1 to \(checklist.items.count).")
        }
        item.notes = checklist.notes
    }

    /// Completes the current occurrence of a recurring task, or reopens the last one.
    ///
    /// A `status` that says that the task is done or cancelled ends the series, until it is reopened.
    private func applyRecurrence(
        to item: inout TaskItem, of original: TaskItem, in vocabulary: TaskVocabulary
    ) throws {
        let today = today ?? CivilDate(CalendarDay(clampingDaysSinceEpoch: 0))
        if let recurrence { item.setRecurrence(recurrence, from: today) }
        if skipsOccurrence {
            guard item.occurrence != nil else {
                throw TaskSyncError(.invalid, "'\(item.title)' has no occurrence to skip.")
            }
            item.settleOccurrence(as: .skipped, on: today)
        }
        let isClosed = item.status(in: vocabulary).map { $0 != .open } ?? false
        switch isCompleted {
        case true? where !isClosed && item.occurrence != nil: item.settleOccurrence(as: .done, on: today)
        case false? where item.series != nil:
            if isClosed { item.setCompleted(false, in: vocabulary) }
            // The word in `status` has hidden an open occurrence, or there is none.
            if !isClosed || item.occurrence == nil && item.currentDate != nil { item.reopenLastOccurrence() }
        case let isCompleted?: item.setCompleted(isCompleted, in: vocabulary)
        case nil: break
        }
        item.settleDates(on: today, after: original)
    }
}

/// An error of a command.
package struct TaskSyncError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable {
        case notFound
        case invalid
        /// The directory is not the known one, and nothing can be written.
        case held
        /// A limit would be exceeded; the message contains the limit and the present use.
        case tooLarge
        /// The disk has too little room; the message contains the size.
        case noSpace
        /// The server cannot be reached.
        case offline
        /// The server does not allow the operation.
        case refused
        /// The task exists already.
        case exists
    }

    package let code: Code
    package let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
