import Control
import JSON

/// A line of NDJSON: a task as `ferry export` and `ferry list --ndjson` write it, or as another
/// program writes it with the same members.
enum TaskRecord {
    /// The members that a record may have in addition to `task`.
    private static let members: Set<String> = [
        "schemaVersion", "task", "notes", "fields", "attachments", "createdTime", "updatedTime", "completedTime",
        "remarks",
        "pinned", "head", "checklist",
    ]
    private static let taskMembers: Set<String> = [
        "id", "title", "completed", "priority", "due", "tags", "list", "attachments", "checklist", "sync", "path",
    ]

    static func record(_ bytes: ArraySlice<UInt8>) throws(RecordProblem) -> ImportRecord {
        let json: JSON
        do { json = try JSON(parsing: Array(bytes)) } catch { throw RecordProblem("It is \(error.description).") }
        guard let record = json.objectValue else { throw RecordProblem("It is not a JSON object.") }
        let inner = json["task"]?.objectValue
        let task = inner ?? record
        guard let title = task["title"]?.stringValue, title.contains(where: { !$0.isWhitespace }) else {
            throw RecordProblem("It has no title.")
        }
        let id = task["id"]?.stringValue
        var result = ImportRecord(
            name: title, change: TaskChange(title: title), id: id, key: id.map { "record \($0)" } ?? "")
        for (object, keys) in [(task, ["id", "list", "due"]), (record, ["notes", "head"])] {
            for key in keys where object[key].map({ $0.stringValue == nil && !$0.isNull }) ?? false {
                result.changes.append("'\(key)' is not text and is left out")
            }
        }
        if let fields = record["fields"], fields.objectValue == nil, !fields.isNull {
            result.changes.append("'fields' is not an object and is left out")
        }
        read(task, into: &result)
        read(record, besides: inner != nil, into: &result)
        return result
    }

    private static func read(_ task: JSONObject, into result: inout ImportRecord) {
        result.change.list = task["list"]?.stringValue ?? ""
        result.change.due = task["due"]?.stringValue ?? ""
        result.change.isCompleted = task["completed"]?.booleanValue ?? false
        if let value = task["completed"], value.booleanValue == nil, !value.isNull {
            result.changes.append("'completed' is neither true nor false and is left out")
        }
        result.change.priority = TaskSummary.Priority.none
        if let value = task["priority"], !value.isNull {
            let text = value.stringValue ?? value.text
            if let priority = TaskSummary.Priority(rawValue: text) {
                result.change.priority = priority
            } else {
                result.change.texts["priority"] = text
                result.changes.append("priority '\(text)' is none of high, medium and low; it is kept as a field")
            }
        }
        var tags: [String] = []
        let values = task["tags"]?.arrayValue ?? task["tags"].map { $0.isNull ? [] : [$0] } ?? []
        for value in values {
            let tag = value.stringValue ?? (value.isNull ? "" : value.text)
            if tag.isEmpty {
                result.changes.append("an empty tag is left out")
            } else if !tags.contains(tag) {
                tags.append(tag)
            }
        }
        result.change.tags = tags
    }

    private static func read(_ record: JSONObject, besides isNested: Bool, into result: inout ImportRecord) {
        result.change.notes = record["notes"]?.stringValue
        for (key, value) in record["fields"]?.objectValue ?? [:] {
            // JSON is also YAML.
            if let text = value.stringValue {
                result.change.texts[key] = text
            } else {
                result.change.fields[key] = value.text
            }
        }
        if let head = record["head"]?.stringValue {
            result.change.head = head
            let path = record["task"]?["path"]?.stringValue ?? record["path"]?.stringValue
            let name = path?.split(separator: "/").last.map(String.init) ?? result.name
            result.change.fileName = name.hasSuffix(".md") && name.count > 3 ? String(name.dropLast(3)) : name
        }
        let count = record["attachments"]?.arrayValue?.count ?? 0
        if count > 0 {
            result.changes.append("\(Count(count, "attachment is", "attachments are")) not in this format")
        }
        let known = isNested ? members : members.union(taskMembers)
        for key in record.map(\.key) where !known.contains(key) {
            result.changes.append("'\(key)' is unknown and is left out")
        }
    }
}
