import Control

/// A table with a header: values separated by commas, semicolons or tabs, quoted as in RFC 4180.
struct CSVFile {
    /// The columns that have a meaning, by their names in lower case; any other column is a field.
    private static let columns = [
        "title": "title", "task": "title", "name": "title", "summary": "title", "content": "title", "due": "due",
        "due date": "due", "deadline": "due", "priority": "priority", "tags": "tags", "labels": "tags", "list": "list",
        "project": "list", "folder": "list", "notes": "notes", "note": "notes", "description": "notes",
        "completed": "completed", "done": "completed", "status": "completed",
    ]

    private let rows: [[String]]
    /// The reasons why rows are left out, by their indices.
    private var problems: [Int: String] = [:]

    init(_ text: String) {
        let (rows, isCut) = Self.parsed(text)
        if let table = TodoistTable(rows) {
            self.rows = table.rows
            problems = table.problems
        } else {
            self.rows = rows
        }
        if isCut, let last = rows.indices.last {
            problems[last] = "A quote in it does not end."
        }
    }

    /// The records, without rows that have no values.
    var records: [FoundRecord] {
        guard let header = rows.first else { return [] }
        let names = Self.names(header)
        guard names.contains("title") else {
            return [FoundRecord("the header", .failure(RecordProblem("It has no column 'title'.")))]
        }
        return rows.enumerated().dropFirst().compactMap { index, row in
            guard row.contains(where: { !$0.isEmpty }) || problems[index] != nil else { return nil }
            do throws(RecordProblem) {
                if let problem = problems[index] { throw RecordProblem(problem) }
                let record = try Self.record(row, names)
                return FoundRecord(record.name, .success(record), source: Self.line(row))
            } catch {
                return FoundRecord("row \(index + 1)", .failure(error))
            }
        }
    }

    /// Returns the meanings of columns, or the names of fields. Each is there once, so that no column
    /// hides another.
    private static func names(_ header: [String]) -> [String] {
        var names: [String] = []
        var used: Set<String> = []
        // The number of columns with each name so far.
        var counts: [String: Int] = [:]
        for column in header {
            let name = columns[column.lowercased()].flatMap { used.contains($0) ? nil : $0 } ?? column
            let base = name.isEmpty ? "column" : name
            var numbered = base
            repeat {
                let number = (counts[base] ?? 0) + 1
                counts[base] = number
                numbered = number == 1 ? base : "\(base) \(number)"
            } while used.contains(numbered)
            used.insert(numbered)
            names.append(numbered)
        }
        return names
    }

    private static func record(_ row: [String], _ names: [String]) throws(RecordProblem) -> ImportRecord {
        guard row.count <= names.count else { throw RecordProblem("It has more values than the header has columns.") }
        var record = ImportRecord(
            name: "", change: TaskChange(priority: TaskSummary.Priority.none, due: "", tags: []), key: "")
        for (name, value) in zip(names, row) where !value.isEmpty {
            switch name {
            case "title": (record.name, record.change.title) = (value, value)
            case "notes": record.change.notes = value
            case "list": record.change.list = value
            case "tags": record.change.tags = tags(value)
            case "due":
                if let date = ExchangeDate(value) ?? ExchangeDate(basic: value) {
                    record.change.due = date.text
                } else {
                    record.change.texts["due"] = value
                    record.changes.append("due '\(value)' is not a date; it is kept as a field")
                }
            case "priority":
                if let priority = priority(value) {
                    record.change.priority = priority
                } else {
                    record.change.texts["priority"] = value
                    record.changes.append("priority '\(value)' is none of high, medium and low; it is kept as a field")
                }
            case "completed":
                switch value.lowercased() {
                case "true", "yes", "x", "1", "done", "completed": record.change.isCompleted = true
                case "false", "no", "0", "open", "pending", "todo", "needs-action": break
                default:
                    record.change.texts["status"] = value
                    record.changes.append("status '\(value)' is kept as a field")
                }
            default: record.change.texts[name] = value
            }
        }
        guard record.name.contains(where: { !$0.isWhitespace }) else { throw RecordProblem("It has no title.") }
        // A word of its own says whether the task is open.
        if record.change.isCompleted == nil, record.change.texts["status"] == nil { record.change.isCompleted = false }
        if record.change.isCompleted == true, let rule = record.change.texts.removeValue(forKey: "recurrence") {
            record.changes.append("its recurrence \(rule) is left out, because it is completed")
        }
        return record
    }

    private static func tags(_ text: String) -> [String] {
        var tags: [String] = []
        for part in text.split(whereSeparator: { $0 == "," || $0 == ";" || $0 == "\n" }) {
            let tag = part.trimmingSpaces
            if !tag.isEmpty, !tags.contains(tag) { tags.append(tag) }
        }
        return tags
    }

    private static func priority(_ text: String) -> TaskSummary.Priority? {
        switch text.lowercased() {
        case "h": .high
        case "m", "normal": .medium
        case "l": .low
        case let word: TaskSummary.Priority(rawValue: word)
        }
    }

    /// Splits a text into rows. The separator is the one that the header has most of.
    static func rows(_ text: String) -> [[String]] { parsed(text).rows }

    private static func parsed(_ text: String) -> (rows: [[String]], isCut: Bool) {
        // A mark at the start of a value would make one character with the sign before it.
        var scalars = text.unicodeScalars[...]
        let header = scalars.prefix { $0 != "\n" && $0 != "\r" }
        let separators: [Unicode.Scalar] = [",", ";", "\t"]
        let separator =
            separators.max { one, other in
                header.count { $0 == one } < header.count { $0 == other }
            } ?? ","
        var rows: [[String]] = []
        var row: [String] = []
        var value = String.UnicodeScalarView()
        var isQuoted = false
        while let scalar = scalars.popFirst() {
            if isQuoted {
                if scalar != "\"" {
                    value.append(scalar)
                } else if scalars.first == "\"" {
                    value.append(scalar)
                    scalars.removeFirst()
                } else {
                    isQuoted = false
                }
            } else if scalar == "\"", value.isEmpty {
                isQuoted = true
            } else if scalar == separator {
                row.append(String(value))
                value.removeAll()
            } else if scalar == "\n" || scalar == "\r" {
                if scalar == "\r", scalars.first == "\n" { scalars.removeFirst() }
                rows.append(row + [String(value)])
                row = []
                value.removeAll()
            } else {
                value.append(scalar)
            }
        }
        if !row.isEmpty || !value.isEmpty || isQuoted { rows.append(row + [String(value)]) }
        return (rows, isQuoted)
    }

    /// Returns a row as text, with the values quoted that need it.
    static func line(_ values: [String]) -> String {
        values.map { value in
            guard value.unicodeScalars.contains(where: ",\";\t\n\r".unicodeScalars.contains) else { return value }
            var quoted = String.UnicodeScalarView()
            for scalar in value.unicodeScalars {
                if scalar == "\"" { quoted.append(scalar) }
                quoted.append(scalar)
            }
            return "\"\(String(quoted))\""
        }.joined(separator: ",")
    }
}

extension StringProtocol {
    /// The text without spaces and tabs at its ends.
    var trimmingSpaces: String {
        var rest = self[...]
        while let first = rest.first, first == " " || first == "\t" { rest = rest.dropFirst() }
        while let last = rest.last, last == " " || last == "\t" { rest = rest.dropLast() }
        return String(rest)
    }
}
