import Glibc
import SystemIO
import TaskModel

@testable import TaskSync

/// Returns a catalog entry of a task.
func sample(
    _ id: TaskID, _ title: String, done: Bool = false, priority: Priority? = nil, due: String? = nil,
    tags: [String] = [], list: ListID? = nil
) -> TaskCatalog.Entry {
    TaskCatalog.Entry(
        id: id, title: title, isCompleted: done, priority: priority, due: due.flatMap { Due(parsing: $0) }, tags: tags,
        list: list, attachmentCount: 0, deletion: nil, isPending: false, isParked: false)
}
