import DocumentModel
import TaskModel

extension DocumentName {
    /// The name of a task's document.
    init(task: TaskID, in database: DatabaseName) throws(NameError) {
        try self.init(database: database, collection: "tasks", id: task.rawValue)
    }

    /// The name of a list's document.
    init(list: ListID, in database: DatabaseName) throws(NameError) {
        try self.init(database: database, collection: "lists", id: list.rawValue)
    }

    /// The id of the task, if this is the name of a task's document.
    var task: TaskID { TaskID(id) }

    /// The id of the list, if this is the name of a list's document.
    var list: ListID { ListID(id) }
}
