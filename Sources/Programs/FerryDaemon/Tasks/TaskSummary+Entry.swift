import Control
import TaskModel
import TaskSync

extension TaskSummary {
    init(_ task: TaskCatalog.Entry, listName: String?, path: String?, hasConflict: Bool) {
        let sync: Sync =
            task.isParked ? .problem : hasConflict ? .conflict : task.isPending ? .pending : .synced
        self.init(
            id: task.id.rawValue, title: task.title, isCompleted: task.isCompleted, priority: Priority(task.priority),
            due: task.due?.text, tags: task.tags, list: listName ?? "",
            attachmentCount: task.attachmentCount, sync: sync, path: path)
        localDue = task.localDue
        checklist = task.checklist.map { Checklist(doneCount: Int($0.doneCount), count: Int($0.count)) }
    }
}

extension TaskSummary.Priority {
    init(_ priority: TaskModel.Priority?) {
        switch priority {
        case .high?: self = .high
        case .medium?: self = .medium
        case .low?: self = .low
        case nil: self = .none
        }
    }

    var model: TaskModel.Priority? {
        switch self {
        case .high: .high
        case .medium: .medium
        case .low: .low
        case .none: nil
        }
    }
}
