import Control
import TaskSync

/// A task ready to be listed. A class, so that sorting and filtering thousands of them copies references only.
final class TaskRow: Sendable {
    let entry: TaskCatalog.Entry
    let order: TaskOrder
    let text: [UInt8]
    private let source: Source

    /// All that the text is made of.
    struct Source: Sendable, Equatable {
        let entry: TaskCatalog.Entry
        let listName: String?
        let path: String?
        let hasConflict: Bool

        var summary: TaskSummary {
            TaskSummary(entry, listName: listName, path: path, hasConflict: hasConflict)
        }
    }

    init(_ source: Source) {
        self.source = source
        entry = source.entry
        text = source.summary.row
        order = TaskOrder(source.entry)
    }

    /// Whether the row would be the same again.
    func isMade(of source: Source) -> Bool { self.source == source }
}

/// All tasks in the order of lists, as of one moment of the bridge.
struct TaskRows: Sendable {
    let rows: [TaskRow]
    let listNames: [String: String]
    /// Of the event hub when they were made.
    let moment: UInt64
    let stack: ObjectIdentifier
}
