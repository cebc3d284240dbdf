import Control
import DocumentModel
import TaskModel

/// The fields of a task's document and their values in words.
struct FieldWords {
    /// The names of lists, by id.
    let listNames: [ListID: String]
    /// The names of attachments, by id.
    var attachments: [AttachmentID: TaskAttachment] = [:]

    /// Returns the name of a field, such as `due`, `list` or `attachment a.pdf`. A custom field
    /// keeps its own name.
    func label(_ path: FieldPath?) -> String {
        guard let path, let key = path.segments.first else { return "task" }
        switch (key, path.segments.dropFirst().first) {
        case ("listId", nil): return "list"
        case ("dueHasTime", nil): return "due"
        case ("deletedTime", nil): return "task"
        case ("fields", let name?): return name
        case ("instances", let day?): return "occurrence of \(day)"
        case ("attachments", let id?):
            return "attachment " + (attachments[AttachmentID(id)]?.name ?? String(id.prefix(8)))
        default: return path.segments.joined(separator: ".")
        }
    }

    /// Returns a value in words; `none` if there is none.
    func text(_ value: Value?, of path: FieldPath?) -> String {
        guard let path, let key = path.segments.first else { return value == nil ? "deleted" : "there" }
        switch key {
        case "deletedTime": return value == nil ? "there" : "deleted"
        case "completed": return value?.booleanValue == true ? "done" : "open"
        case "priority": return TaskSummary.Priority(TaskItem(fields: ["priority": value ?? .null]).priority).rawValue
        case "listId": return value?.stringValue.flatMap { listNames[ListID($0)] } ?? TaskLists.inbox
        case "due":
            guard let value else { return "none" }
            return TaskItem(fields: ["due": value]).due?.text ?? ValueText.text(of: value)
        case "dueHasTime": return value?.booleanValue == true ? "a time" : "a whole day"
        case "tags":
            let tags = TaskItem(fields: ["tags": value ?? .null]).tags
            return tags.isEmpty ? "none" : tags.joined(separator: ", ")
        case "instances":
            guard let instance = value.flatMap({ TaskInstance($0) }) else { return "open" }
            return instance.state.rawValue + (instance.day.map { " on \($0)" } ?? "")
        case "attachments":
            guard let file = value.flatMap({ TaskAttachment($0) }) else { return "none" }
            return file.size.map { "\(file.name) (\($0) bytes)" } ?? file.name
        case "notes":
            guard let text = value?.stringValue, !text.isEmpty else { return "none" }
            return text
        default: return value.map { ValueText.text(of: $0) } ?? "none"
        }
    }
}
