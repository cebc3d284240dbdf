import Control
import JSON
import SystemIO

/// Writes tasks in the formats of other programs.
enum ExportFormat: String, CaseIterable {
    case ndjson
    case todo = "todo.txt"
    case ics
    case taskwarrior
    case csv
    case files
}

/// A task in another format, and what of it that format has no place for.
struct ExportedRecord: Equatable {
    var text: String
    var leftOut: [String] = []
}

extension TodoLine {
    /// Returns a task as a line.
    static func line(_ task: TaskDetail) -> ExportedRecord {
        let (summary, fields) = (task.summary, task.fields)
        var words: [String] = []
        var leftOut: [String] = []
        let letter = fields["todoPriority"].flatMap { $0.count == 1 ? $0 : nil }
        let priority: String? =
            switch summary.priority {
            case .high: "A"
            case .medium: "B"
            case .low: letter ?? "C"
            case .none: nil
            }
        let created = date(fields["createdDate"]) ?? date(task.createdTime)
        if summary.isCompleted {
            words.append("x")
            if let completed = date(fields["completedDate"]) ?? date(task.completedTime) ?? created {
                words.append(completed)
            }
        } else if let priority {
            words.append("(\(priority))")
        }
        if let created { words.append(created) }
        words += summary.title.split(whereSeparator: \.isWhitespace).map(String.init)
        for tag in summary.tags {
            guard !tag.contains(where: \.isWhitespace) else {
                leftOut.append("tag '\(tag)'")
                continue
            }
            words.append(tag.hasPrefix("@") ? tag : "+\(tag)")
        }
        if let due = summary.due.flatMap({ ExchangeDate($0) }) {
            words.append("due:\(due.second == nil ? due.text : String(due.text.prefix(16)))")
        }
        if let scheduled = fields["scheduled"] { words.append("t:\(scheduled.prefix(10))") }
        if summary.isCompleted, let priority { words.append("pri:\(priority)") }
        if let (rule, isFromCompletion) = ExchangeRecurrence.rule(of: fields) {
            if let (count, unit) = ExchangeRecurrence.units(of: rule) {
                words.append("rec:\(isFromCompletion ? "" : "+")\(count)\(unit)")
            } else if rule == ExchangeRecurrence.weekdays {
                words.append("rec:\(isFromCompletion ? "" : "+")1b")
            } else {
                leftOut.append("recurrence \(rule)")
            }
        }
        if !summary.list.isEmpty { leftOut.append("list '\(summary.list)'") }
        if !task.notes.isEmpty { leftOut.append("notes") }
        leftOut += task.leftOutFields(besides: ["todoPriority", "createdDate", "completedDate", "scheduled"])
        return ExportedRecord(text: words.joined(separator: " "), leftOut: leftOut)
    }

    private static func date(_ text: String?) -> String? { text.flatMap { ExchangeDate(String($0.prefix(10))) }?.text }
}

extension TaskwarriorFile {
    private static let zones = TimeZones()

    /// Returns a task as a JSON object.
    static func object(_ task: TaskDetail) -> ExportedRecord {
        let (summary, fields) = (task.summary, task.fields)
        let zone = fields["tzid"].flatMap { zones[$0] }
        var object = JSONObject()
        object["uuid"] = .string(uuid(of: summary.id))
        object["description"] = .string(summary.title)
        object["status"] = .string(summary.isCompleted ? "completed" : "pending")
        func moment(_ key: String, _ text: String?) {
            guard let date = text.flatMap({ ExchangeDate($0) }) else { return }
            object[key] = .string(date.basicUTC(in: zone))
        }
        moment("entry", fields["createdDate"] ?? task.createdTime.map { String($0.prefix(19)) + "Z" })
        if summary.isCompleted {
            moment("end", fields["completedDate"] ?? task.completedTime.map { String($0.prefix(19)) + "Z" })
        }
        moment("due", summary.due)
        for key in ["scheduled", "wait", "until", "start"] { moment(key, fields[key]) }
        switch summary.priority {
        case .high: object["priority"] = "H"
        case .medium: object["priority"] = "M"
        case .low: object["priority"] = "L"
        case .none: break
        }
        if !summary.tags.isEmpty { object["tags"] = .array(summary.tags.map { .string($0) }) }
        if !summary.list.isEmpty { object["project"] = .string(summary.list.replacing("/", with: ".")) }
        if !task.notes.isEmpty {
            let entry = object["entry"] ?? "19700101T000000Z"
            object["annotations"] = .array(
                task.notes.split(whereSeparator: \.isNewline).map {
                    .object(["entry": entry, "description": .string(String($0))])
                })
        }
        var written: Set = ["createdDate", "completedDate", "scheduled", "wait", "until", "start"]
        var leftOut: [String] = []
        if let (rule, _) = ExchangeRecurrence.rule(of: fields) {
            if let (count, unit) = ExchangeRecurrence.units(of: rule) {
                // Taskwarrior makes occurrences of its own from templates, which would be others than these.
                leftOut.append("recurrence every \(count)\(unit)")
            } else {
                leftOut.append("recurrence \(rule)")
            }
        }
        for (key, value) in fields.sorted(by: { $0.key < $1.key })
        where !written.contains(key) && object[key] == nil && !TaskDetail.recurrenceKeys.contains(key) {
            object[key] = .string(value)
            written.insert(key)
        }
        leftOut += task.leftOutFields(besides: written)
        return ExportedRecord(text: JSON.object(object).text, leftOut: leftOut)
    }

    /// Returns a UUID (RFC 9562, version 8) that is always the same for an id.
    static func uuid(of id: String) -> String {
        var bytes: [UInt8] = []
        for seed: UInt64 in [0xCBF2_9CE4_8422_2325, 0x9E37_79B9_7F4A_7C15] {
            let hash = id.utf8.reduce(seed) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
            bytes += (0..<8).map { UInt8(truncatingIfNeeded: hash >> (56 - 8 * $0)) }
        }
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { digits[$0].joined() }.joined(separator: "-")
    }
}

extension CSVFile {
    /// The columns that every table has.
    static let header = ["title", "completed", "priority", "due", "tags", "list", "notes"]

    /// Returns the header and a row for each task, with a column for each field that any task has.
    static func table(_ tasks: [TaskDetail]) -> [ExportedRecord] {
        let fields = Set(tasks.flatMap(\.fields.keys)).subtracting(header).sorted()
        let first = ExportedRecord(text: line(header + fields))
        return [first]
            + tasks.map { task in
                let summary = task.summary
                var leftOut = task.summary.tags.filter { $0.contains(",") }.map { "the comma of tag '\($0)'" }
                leftOut += task.leftOutFields(besides: Set(task.fields.keys))
                let values = [
                    summary.title, summary.isCompleted ? "true" : "",
                    summary.priority == .none ? "" : summary.priority.rawValue,
                    summary.due ?? "", summary.tags.joined(separator: ", "), summary.list, task.notes,
                ]
                return ExportedRecord(text: line(values + fields.map { task.fields[$0] ?? "" }), leftOut: leftOut)
            }
    }
}

extension TaskDetail {
    static let recurrenceKeys: Set = [
        "recurrence", "recurrence_anchor", "catch-up", "complete_instances", "skipped_instances",
    ]

    /// The fields that a format has no place for, besides those that it has, the occurrences that were
    /// completed or skipped, and the attachments.
    func leftOutFields(besides written: Set<String>) -> [String] {
        let names = fields.keys.filter { !written.contains($0) && !Self.recurrenceKeys.contains($0) }.sorted()
        let hasOccurrences = head.contains("complete_instances:") || head.contains("skipped_instances:")
        return names.map { "field \($0)" } + (hasOccurrences ? ["its earlier occurrences"] : [])
            + (attachments.isEmpty ? [] : ["\(Count(attachments.count, "attachment"))"])
    }
}
