import DocumentModel

/// Keeps completed occurrences of recurring tasks as tasks of their own.
package enum OccurrenceArchive {
    package static let key = "archive"
    /// The key with the day of the occurrence in an archived task, as in notes of TaskNotes.
    package static let dayKey = "occurrence_date"

    /// Whether each completed occurrence of a task is kept (`archive: each`).
    package static func isWanted(by item: TaskItem) -> Bool {
        item.fields[key].flatMap(CustomValue.scalarText) == "each"
    }

    /// Returns the completed task in which an occurrence is kept; it is the same on all machines that
    /// complete the occurrence of the same task.
    ///
    /// It has no attachments, reminders or recurrence, and the day is part of its title, so that the
    /// files of a series have different names.
    ///
    /// - Parameters:
    ///   - old: The task before the completion.
    ///   - new: The task after it.
    package static func task(of day: CivilDate, from old: TaskItem, completed new: TaskItem) -> TaskItem {
        var copy = new
        copy.setDue(old.anyDue)
        copy.fields[TaskSeries.scheduledKey] = old.fields[TaskSeries.scheduledKey]
        if let date = old.date { copy.move(date, to: day) }
        // The completion has reopened the items.
        if old.fields[TaskSeries.checklistKey] != nil { copy.notes = old.notes }
        copy.title = "\(new.title) \(day)"
        let ofSeries = TaskSeries.keys + [TaskSeries.checklistKey, Reminder.key, key, "completedDate"]
        for key in ofSeries { copy.fields[key] = nil }
        copy.fields[dayKey] = .string(day.description)
        (copy.instances, copy.snoozes, copy.attachments) = ([:], [:], [:])
        (copy.createdTime, copy.updatedTime, copy.completedTime, copy.deletedTime) = (nil, nil, nil, nil)
        // The words of this machine may be unknown to others, which would write other ones.
        copy.completed = false
        copy.setCompleted(true, in: .standard)
        return copy
    }
}
