public import DocumentModel

/// A snooze of a task's reminders by one user: none is shown before a time, and one at that time.
public struct ReminderSnooze: Sendable, Hashable {
    /// The time at which the task is shown again.
    public var until: Timestamp
    /// The dates of the task when it was snoozed. A task whose dates have changed since, such as one
    /// whose occurrence was completed, is not snoozed any more.
    public var dates: String

    /// Creates a snooze of a task that has these dates.
    public init(until: Timestamp, dates: String) {
        self.until = until
        self.dates = dates
    }

    /// Creates a snooze from an element of a document's `snoozes`; nil if `value` is not one.
    init?(_ value: Value) {
        guard let map = value.mapValue, let until = map["until"]?.time else { return nil }
        self.init(until: until, dates: map["dates"]?.stringValue ?? "")
    }

    /// The snooze as an element of a document's `snoozes`.
    var value: Value { .map(["until": .timestamp(until), "dates": .string(dates)]) }
}

extension TaskItem {
    /// Snoozes the reminders for one user, or ends the snooze if `until` is nil.
    package mutating func snooze(until: Timestamp?, for user: UserID) {
        snoozes[user.rawValue] = until.map { ReminderSnooze(until: $0, dates: reminderDates) }
    }

    /// The dates on which reminders depend, as one text.
    var reminderDates: String {
        let scheduled = fields[TaskSeries.scheduledKey].flatMap(CustomValue.scalarText) ?? ""
        return "\(anyDue?.text ?? "")|\(scheduled)"
    }

    /// The snoozes as elements of a document's `snoozes`.
    var snoozeValues: [String: Value] { snoozes.mapValues(\.value) }
}
