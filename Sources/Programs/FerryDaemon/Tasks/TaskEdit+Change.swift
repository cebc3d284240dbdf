import CivilTime
import Control
import Recurrence
import SystemIO
import TaskModel
import TaskSync

extension TaskEdit {
    /// Creates an edit from a change of the control protocol.
    ///
    /// - Throws: `ControlError` for an invalid due date or title.
    init(_ change: TaskChange) throws(ControlError) {
        self.init()
        if let title = change.title {
            guard title.contains(where: { !$0.isWhitespace }) else {
                throw ControlError(.invalidArgument, "A task needs a title.")
            }
            self.title = title
        }
        if let list = change.list {
            listName = list.lowercased() == TaskLists.inbox.lowercased() ? "" : list
        }
        isCompleted = change.isCompleted
        if let priority = change.priority { self.priority = .some(priority.model) }
        if let text = change.due { due = .some(try Self.due(text)) }
        tags = change.tags
        addTags = change.addTags
        removeTags = change.removeTags
        notes = change.notes
        ticks = change.ticks
        unticks = change.unticks
        fields = change.fields
        texts = change.texts
        skipsOccurrence = change.isSkipped
        archivesOccurrence = change.isArchived
        today = CivilDate(change.today.flatMap { CalendarDay($0) } ?? CalendarDay(localAt: Clocks.wallSeconds()))
        if let every = change.every {
            recurrence = .some(try Self.series(every, isFromCompletion: change.isFromCompletion))
        }
        if let texts = change.reminders { reminders = .some(try Self.reminders(texts)) }
        head = change.head
        fileName = change.fileName
        importKey = change.importKey
        isTrial = change.isTrial
    }

    /// Removes the texts of fields that the head already has in the same form.
    mutating func dropTextsOfHead() {
        guard let head, let file = try? TaskFile(parsing: Array(head.utf8), named: "") else { return }
        for (key, value) in file.item.fields where texts[key] == ValueText.text(of: value) { texts[key] = nil }
    }

    private static func series(_ text: String, isFromCompletion: Bool) throws(ControlError) -> TaskSeries? {
        if text.isEmpty { return nil }
        guard let rule = RecurrenceWords.rule(text) else {
            throw ControlError(
                .invalidArgument, "'\(text)' is not a recurrence.", hint: "One of \(RecurrenceWords.forms).")
        }
        return TaskSeries(rule, anchor: isFromCompletion ? .completion : .scheduled)
    }

    private static func reminders(_ texts: [String]) throws(ControlError) -> [Reminder]? {
        if texts == ["default"] { return nil }
        guard texts.count <= Reminder.limit else {
            throw ControlError(.tooLarge, "A task can have \(Reminder.limit) reminders.")
        }
        return try texts.map { text throws(ControlError) in
            if let seconds = ReminderOffset.seconds(text) { return Reminder(.relative(.due, seconds: seconds)) }
            if let time = Due(parsing: text) { return Reminder(.absolute(time)) }
            throw ControlError(
                .invalidArgument, "'\(text)' is not a reminder.",
                hint: "A time before the due date such as 30m, 2h or 1d, or a date or time such as 2026-11-30T17:00.")
        }
    }

    private static func due(_ text: String) throws(ControlError) -> Due? {
        if text.isEmpty { return nil }
        if let due = Due(parsing: text) { return due }
        throw ControlError(
            .invalidArgument, "'\(text)' is not a due date.",
            hint: "A date such as 2026-11-30, a time such as 2026-11-30T17:00, or friday, tomorrow, +3d.")
    }
}
