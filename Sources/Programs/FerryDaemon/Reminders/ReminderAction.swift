import CivilTime
import DocumentModel
import SystemIO
import TaskModel
import TaskSync

/// The action of a button of a notice.
enum ReminderAction: Sendable, Hashable {
    case complete
    /// Silences the reminders of the task for `NoticeText.snoozeMinutes`.
    case snooze
    case open

    /// Creates the action of a button; nil for a key that no button has.
    init?(key: String) {
        switch key {
        case NoticeText.doneAction: self = .complete
        case NoticeText.snoozeAction: self = .snooze
        case NoticeText.openAction: self = .open
        default: return nil
        }
    }

    /// Performs the action on a task.
    ///
    /// - Returns: The path of the file to show, relative to the tasks directory; nil for none.
    func perform(on task: TaskID, _ sync: TaskSync, in situation: ReminderPlanner.Situation) async throws -> String? {
        var edit = TaskEdit()
        edit.today = CivilDate(CalendarDay(localAt: Clocks.wallSeconds()))
        switch self {
        case .complete: edit.isCompleted = true
        case .snooze:
            let until = situation.now.saturatingAdded(to: NoticeText.snoozeMinutes * 60)
            edit.snooze = .init(user: situation.user, until: Timestamp(seconds: until, nanos: 0))
        case .open: return await sync.path(ofTask: task)
        }
        try await sync.edit(task, edit)
        return nil
    }
}
