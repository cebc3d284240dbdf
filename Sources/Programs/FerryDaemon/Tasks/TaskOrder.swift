import CivilTime
import TaskModel
import TaskSync

/// The display order of tasks: open tasks before completed ones, then by due day, by priority, and
/// by title. The key that a user chose comes before the other ones.
struct TaskOrder: Comparable {
    /// The key by which tasks are sorted first.
    enum Key: String {
        case due
        case priority
        case title
    }

    private let isCompleted: Bool
    private let key: Key
    /// The due day in days since 1970. Tasks without a due day come after all others.
    private let day: Int
    private let priority: Int64
    private let title: String
    private let id: TaskID

    init(_ task: TaskCatalog.Entry, by key: Key = .due) {
        self.key = key
        isCompleted = task.isCompleted
        day = task.dueDay?.daysSinceEpoch ?? .max
        priority = task.priority?.rawValue ?? .max
        title = task.title.lowercased()
        id = task.id
    }

    static func < (left: TaskOrder, right: TaskOrder) -> Bool {
        if left.isCompleted != right.isCompleted { return right.isCompleted }
        switch left.key {
        case .due: break
        case .priority where left.priority != right.priority: return left.priority < right.priority
        case .title where left.title != right.title: return left.title < right.title
        case .priority, .title: break
        }
        if left.day != right.day { return left.day < right.day }
        if left.priority != right.priority { return left.priority < right.priority }
        if left.title != right.title { return left.title < right.title }
        return left.id < right.id
    }

    static func sorted(_ tasks: some Sequence<TaskCatalog.Box>, by key: Key = .due) -> [TaskCatalog.Box] {
        tasks.map { (TaskOrder($0.entry, by: key), $0) }.sorted { $0.0 < $1.0 }.map(\.1)
    }
}
