import Control
import DocumentModel
import TaskModel
import TaskSync

/// Finds the words for reminders: the titles, dates and lists of the tasks that they are about.
struct ReminderWords: Sendable {
    /// Nil while nothing syncs; then no task has a title.
    let sync: TaskSync?
    let tasks: [TaskID: TaskReminders]

    /// Returns the text of a notice for a notification server.
    ///
    /// - Parameter capabilities: What the server supports, by the names of the specification.
    func text(of notice: ReminderNotice, capabilities: Set<String>) async -> NoticeText {
        let (entries, lists) = await sync?.entries(of: notice.keys.map(\.task)) ?? ([], [:])
        let found = Dictionary(entries.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        let items = notice.keys.map { key in
            let entry = found[key.task]
            let moment = tasks[key.task]?.moments.first { $0.reminder == key.reminder && $0.time.value == key.time }
            return NoticeText.Item(
                title: entry?.title ?? key.task.rawValue, due: entry?.due?.text,
                list: entry?.list.flatMap { lists[$0] },
                note: moment?.note)
        }
        return NoticeText(items, capabilities: capabilities)
    }

    /// Returns the lines of a listing of reminders.
    ///
    /// - Parameter now: The time in seconds since 1970.
    func summaries(of reminders: [ReminderPlanner.DueReminder], at now: Int64) async -> [ReminderSummary] {
        let (entries, _) = await sync?.entries(of: reminders.map(\.key.task)) ?? ([], [:])
        let titles = Dictionary(entries.map { ($0.id, $0.title) }, uniquingKeysWith: { $1 })
        return reminders.map { reminder in
            ReminderSummary(
                taskID: reminder.key.task.rawValue, title: titles[reminder.key.task] ?? "",
                time: Timestamp(seconds: reminder.instant, nanos: 0)?.rfc3339 ?? "",
                state: reminder.instant > now ? .next : reminder.isShown ? .shown : .waiting,
                isSnoozed: reminder.key.reminder == TaskReminders.snoozeReminder, note: reminder.note)
        }
    }
}
