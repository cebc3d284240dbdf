import Control
import JSON

/// The tasks of `task export`: a JSON array, or one object on each line.
///
/// A recurring task is imported once, with the date of its earliest pending occurrence. Times of
/// midnight are dates.
struct TaskwarriorFile {
    private let objects: [JSONObject]
    private let problems: [FoundRecord]

    init(_ bytes: [UInt8]) {
        if let json = try? JSON(parsing: bytes), let array = json.arrayValue {
            objects = array.compactMap(\.objectValue)
            problems = array.enumerated().filter { $1.objectValue == nil }.map {
                FoundRecord("task \($0.offset + 1)", .failure(RecordProblem("It is not a JSON object.")))
            }
            return
        }
        var (objects, problems): ([JSONObject], [FoundRecord]) = ([], [])
        for (index, line) in SourceText.lines(bytes[...], carriageReturnsEnd: false).enumerated() {
            var line = line
            while let last = line.last, last == UInt8(ascii: ",") || last == 0x20 { line.removeLast() }
            // Older versions write the brackets of the array on lines of their own.
            guard !line.isEmpty, Array(line) != [UInt8(ascii: "[")], Array(line) != [UInt8(ascii: "]")] else {
                continue
            }
            if let object = (try? JSON(parsing: Array(line)))?.objectValue {
                objects.append(object)
            } else {
                problems.append(FoundRecord("line \(index + 1)", .failure(RecordProblem("It is not a JSON object."))))
            }
        }
        (self.objects, self.problems) = (objects, problems)
    }

    var records: [FoundRecord] {
        let templates = Set(
            objects.filter { $0["status"]?.stringValue == "recurring" }.compactMap { $0["uuid"]?.stringValue })
        var earliest: [String: String] = [:]
        for task in objects where Self.isOpen(task) {
            guard let parent = task["parent"]?.stringValue, let due = task["due"]?.stringValue else { continue }
            earliest[parent] = min(earliest[parent] ?? due, due)
        }
        return objects.map { task in
            let name = task["description"]?.stringValue ?? task["uuid"]?.stringValue ?? "a task"
            do throws(RecordProblem) {
                if Self.isOpen(task), let parent = task["parent"]?.stringValue, templates.contains(parent) {
                    throw RecordProblem("It is an occurrence of a recurring task, which is imported once.")
                }
                return FoundRecord(
                    name, .success(try Self.record(task, due: task["uuid"]?.stringValue.flatMap { earliest[$0] })))
            } catch {
                return FoundRecord(name, .failure(error))
            }
        } + problems
    }

    private static func isOpen(_ task: JSONObject) -> Bool {
        ["pending", "waiting"].contains(task["status"]?.stringValue ?? "pending")
    }

    /// Attributes that Taskwarrior computes.
    private static let computed: Set<String> = ["id", "urgency", "mask", "imask", "rtype", "modified", "parent"]
    /// Attributes that become others here.
    private static let known: Set<String> = [
        "uuid", "description", "status", "project", "priority", "due", "tags", "annotations", "recur",
    ]
    /// Attributes that are texts in each version.
    private static let texts = Set(moments.keys).union(["project", "priority", "due", "recur"])
    private static let moments: [String: String] = [
        "entry": "createdDate", "end": "completedDate", "scheduled": "scheduled", "wait": "wait", "until": "until",
        "start": "start",
    ]

    private static func record(_ task: JSONObject, due: String?) throws(RecordProblem) -> ImportRecord {
        guard let title = task["description"]?.stringValue, title.contains(where: { !$0.isWhitespace }) else {
            throw RecordProblem("It has no description.")
        }
        let status = task["status"]?.stringValue ?? "pending"
        guard status != "deleted" else { throw RecordProblem("It was deleted.") }
        let id = task["uuid"]?.stringValue
        var record = ImportRecord(
            name: title, change: TaskChange(title: title), key: id.map { "taskwarrior \($0)" } ?? "")
        record.change.isCompleted = status == "completed"
        record.change.priority = TaskSummary.Priority.none
        record.change.due = ""
        for key in texts.sorted() where task[key] != nil && task[key]?.stringValue == nil && task[key] != .null {
            record.changes.append("\(key) is not text and is left out")
        }
        if !["pending", "waiting", "recurring", "completed"].contains(status) {
            record.change.texts["status"] = status
            record.changes.append("status '\(status)' is kept as a field")
        }
        record.change.list = task["project"]?.stringValue?.split(separator: ".").joined(separator: "/") ?? ""
        readTags(task["tags"], into: &record)
        switch task["priority"]?.stringValue {
        case "H"?: record.change.priority = .high
        case "M"?: record.change.priority = .medium
        case "L"?: record.change.priority = .low
        case nil, ""?: break
        case let other?:
            record.change.texts["priority"] = other
            record.changes.append("priority '\(other)' is none of H, M and L; it is kept as a field")
        }
        if let text = due ?? task["due"]?.stringValue { record.change.due = moment(text, "due", &record) ?? "" }
        for (key, field) in moments.sorted(by: { $0.key < $1.key }) {
            guard let text = task[key]?.stringValue, let moment = moment(text, key, &record) else { continue }
            record.change.texts[field] = key == "entry" || key == "end" ? String(moment.prefix(10)) : moment
        }
        if let text = task["recur"]?.stringValue {
            if let rule = ExchangeRecurrence.taskwarrior(text) {
                record.setRecurrence(rule, isFromCompletion: false)
            } else {
                record.change.texts["recur"] = text
                record.changes.append("recur '\(text)' is not understood; it is kept as a field")
            }
        }
        readAnnotations(task["annotations"], into: &record)
        for (key, value) in task where !computed.contains(key) && !known.contains(key) && moments[key] == nil {
            if let text = value.stringValue {
                record.change.texts[key] = text
            } else {
                record.change.fields[key] = value.text
            }
        }
        return record
    }

    /// Some programs write the tags as one text.
    private static func readTags(_ value: JSON?, into record: inout ImportRecord) {
        let values = value?.stringValue.map { $0.split(separator: ",").map { JSON.string(String($0)) } }
        let tags = values ?? value?.arrayValue ?? []
        record.change.tags = tags.map { $0.stringValue ?? $0.text }
        if let value, value != .null, values == nil, value.arrayValue == nil {
            record.changes.append("tags is not an array and is left out")
        }
    }

    private static func readAnnotations(_ value: JSON?, into record: inout ImportRecord) {
        let annotations = value?.arrayValue ?? []
        let texts = annotations.compactMap { $0["description"]?.stringValue ?? $0.stringValue }
        record.change.notes = texts.isEmpty ? "" : texts.joined(separator: "\n") + "\n"
        let times = annotations.count { $0["entry"] != nil }
        if times > 0 {
            record.changes.append("\(Count(times, "annotation has", "annotations have")) no time here")
        }
        if texts.count < annotations.count || value != nil && value != .null && value?.arrayValue == nil {
            record.changes.append("an annotation without text is left out")
        }
    }

    /// Returns the moment as files write it; nil, with a change that says so, for a text that is none.
    private static func moment(_ text: String, _ key: String, _ record: inout ImportRecord) -> String? {
        if let date = ExchangeDate(basic: text, midnightIsDate: true) { return date.text }
        record.changes.append("\(key) '\(text)' is not a time and is left out")
        return nil
    }
}
