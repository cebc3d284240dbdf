import CivilTime
import TaskModel
import TaskSync

/// The display order of tasks: open tasks before completed ones, then by due day, by priority, and
/// by title.
struct TaskOrder: Comparable {
    private let isCompleted: Bool
    /// The due day in days since 1970. Tasks without a due day come after all others.
    private let day: Int
    private let priority: Int64
    private let title: String
    private let id: String

    init(_ task: TaskCatalog.Entry) {
        isCompleted = task.isCompleted
        day = task.due?.day.daysSinceEpoch ?? .max
        priority = task.priority?.rawValue ?? .max
        title = task.title.lowercased()
        id = task.id
    }

    static func < (left: TaskOrder, right: TaskOrder) -> Bool {
        if left.isCompleted != right.isCompleted { return right.isCompleted }
        if left.day != right.day { return left.day < right.day }
        if left.priority != right.priority { return left.priority < right.priority }
        if left.title != right.title { return left.title < right.title }
        return left.id < right.id
    }

    static func sorted(_ tasks: some Sequence<TaskCatalog.Box>) -> [TaskCatalog.Box] {
        tasks.map { (TaskOrder($0.entry), $0) }.sorted { $0.0 < $1.0 }.map(\.1)
    }
}
