/// The settings of a machine by which it reads tasks.
package struct TaskReading: Sendable, Hashable {
    /// The words by which task files say whether a task is done and how important it is.
    package var vocabulary = TaskVocabulary.standard
    /// The time of day, in seconds after midnight, at which a task reminds that is due on a day and
    /// has no reminders of its own; nil for no reminder.
    package var dayReminder: Int64?

    /// Creates the settings without a configuration.
    package init() {}
}
