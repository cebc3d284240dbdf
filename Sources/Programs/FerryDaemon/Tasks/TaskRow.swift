import Control
import TaskSync

/// A task ready to be listed. A class, so that sorting and filtering thousands of them copies references only.
final class TaskRow: Sendable {
    let entry: TaskCatalog.Entry
    let order: TaskOrder
    let summary: TaskSummary

    init(_ entry: TaskCatalog.Entry, _ summary: TaskSummary) {
        self.entry = entry
        self.summary = summary
        order = TaskOrder(entry)
    }
}

/// All tasks in the order of lists, as of one moment of the bridge.
struct TaskRows: Sendable {
    let rows: [TaskRow]
    let listNames: [String: String]
    /// Of the event hub when they were made.
    let moment: UInt64
    let stack: ObjectIdentifier
}
