import CivilTime
import Control
import Recurrence
import SystemIO

/// The tasks (`VTODO`) of an iCalendar file, RFC 5545.
///
/// The properties that Ferry has no field for are kept as fields or reported, record by record.
/// A zone (`TZID`) is read by its name; its description in the file (`VTIMEZONE`) is not. A time of a
/// zone that this machine does not have is the time on the clock there, and is reported.
struct CalendarFile {
    private struct Property {
        var name: String
        var parameters: [String: String]
        /// The value as it is written.
        var value: String

        /// The value without escapes.
        var text: String { texts.joined(separator: ",") }

        /// The values between commas, without escapes. A comma that belongs to a value is escaped.
        var texts: [String] {
            var texts: [String.UnicodeScalarView] = [.init()]
            var isEscaped = false
            for scalar in value.unicodeScalars {
                if !isEscaped, scalar == "," {
                    texts.append(.init())
                } else if !isEscaped, scalar == "\\" {
                    isEscaped = true
                } else {
                    texts[texts.count - 1].append(isEscaped && (scalar == "n" || scalar == "N") ? "\n" : scalar)
                    isEscaped = false
                }
            }
            return texts.map { String($0) }
        }

        /// Parses `NAME;PARAMETER=VALUE:value`; nil for a line that is no property.
        init?(_ line: String) {
            var isQuoted = false
            guard
                let colon = line.unicodeScalars.firstIndex(where: { scalar in
                    if scalar == "\"" { isQuoted.toggle() }
                    return scalar == ":" && !isQuoted
                })
            else { return nil }
            value = String(line.unicodeScalars[colon...].dropFirst())
            var parts = line[..<colon].split(separator: ";", omittingEmptySubsequences: false)
            guard let first = parts.first, !first.isEmpty else { return nil }
            name = first.uppercased()
            parts.removeFirst()
            parameters = [:]
            for part in parts {
                guard let equals = part.firstIndex(of: "=") else { continue }
                parameters[part[..<equals].uppercased()] = part[part.index(after: equals)...].filter { $0 != "\"" }
            }
        }
    }

    private static let zones = TimeZones()

    private struct Component {
        var name: String
        var properties: [Property] = []
        /// The names of the components in it.
        var inner: [String] = []
        /// The number of lines in it that are no properties.
        var otherLines = 0
        /// Whether the file ends inside of it.
        var isCut = false
    }

    private var components: [Component] = []

    init(_ text: String) {
        var stack: [Component] = []
        for line in Self.unfolded(text) {
            guard let property = Property(line) else {
                if let last = stack.indices.last { stack[last].otherLines += 1 }
                continue
            }
            switch property.name {
            case "BEGIN": stack.append(Component(name: property.value.trimmingSpaces.uppercased()))
            case "END": if let component = stack.popLast() { take(component, in: &stack) }
            default: if let last = stack.indices.last { stack[last].properties.append(property) }
            }
        }
        while var component = stack.popLast() {
            component.isCut = true
            take(component, in: &stack)
        }
    }

    private mutating func take(_ component: Component, in stack: inout [Component]) {
        if ["VCALENDAR", "VTIMEZONE", "STANDARD", "DAYLIGHT"].contains(component.name) { return }
        if let parent = stack.indices.last, stack[parent].name != "VCALENDAR" {
            stack[parent].inner.append(component.name)
        } else {
            components.append(component)
        }
    }

    /// Returns the lines, with those joined that are folded. Signs are found as scalars, because a value may begin with
    /// a mark that combines with the sign before it.
    private static func unfolded(_ text: String) -> [String] {
        var lines: [String.UnicodeScalarView] = []
        for line in text.unicodeScalars.split(whereSeparator: { $0 == "\n" || $0 == "\r" }) {
            if let first = line.first, first == " " || first == "\t", let last = lines.indices.last {
                lines[last].append(contentsOf: line.dropFirst())
            } else {
                lines.append(String.UnicodeScalarView(line))
            }
        }
        return lines.map { String($0) }
    }

    var records: [FoundRecord] {
        components.map { component in
            let properties = component.properties
            let title = properties.first { $0.name == "SUMMARY" }?.text ?? properties.first { $0.name == "UID" }?.value
            do throws(RecordProblem) {
                guard component.name == "VTODO" else { throw RecordProblem("It is a \(component.name), not a task.") }
                guard !component.isCut else { throw RecordProblem("The file ends inside of it.") }
                return FoundRecord(title ?? "a task", .success(try Self.record(component)))
            } catch {
                return FoundRecord(title ?? component.name, .failure(error))
            }
        }
    }

    private static func record(_ component: Component) throws(RecordProblem) -> ImportRecord {
        let properties = component.properties
        guard let title = properties.first(where: { $0.name == "SUMMARY" })?.text,
            title.contains(where: { !$0.isWhitespace })
        else { throw RecordProblem("It has no SUMMARY.") }
        if properties.contains(where: { $0.name == "RECURRENCE-ID" }) {
            throw RecordProblem("It is an exception of a recurring task, which is imported without it.")
        }
        let uid = properties.first { $0.name == "UID" }?.value
        var record = ImportRecord(name: title, change: TaskChange(title: title), key: uid.map { "ics \($0)" } ?? "")
        record.change.priority = TaskSummary.Priority.none
        record.change.due = ""
        record.change.list = ""
        record.change.notes = ""
        record.change.tags = []
        record.change.isCompleted = properties.contains {
            $0.name == "STATUS" && $0.value.uppercased() == "COMPLETED"
                || $0.name == "COMPLETED" || $0.name == "PERCENT-COMPLETE" && $0.value == "100"
        }
        var seen: Set<String> = []
        for property in properties {
            if single.contains(property.name), !seen.insert(property.name).inserted {
                record.changes.append("a second \(property.name) is left out")
                continue
            }
            read(property, into: &record)
        }
        // A word of its own says whether the task is open.
        if record.change.texts["status"] != nil, record.change.isCompleted == false { record.change.isCompleted = nil }
        for name in component.inner.sorted() { record.changes.append("its \(name) is left out") }
        if component.otherLines > 0 {
            let lines = Count(component.otherLines, "line that is no property is", "lines that are no properties are")
            record.changes.append("\(lines) left out")
        }
        return record
    }

    /// The properties that a task has once, of those that are read.
    private static let single: Set<String> = [
        "SUMMARY", "UID", "DESCRIPTION", "STATUS", "DUE", "DTSTART", "COMPLETED", "CREATED", "PRIORITY", "RRULE",
        "PERCENT-COMPLETE", "CLASS", "LOCATION", "URL", "GEO", "ORGANIZER", "X-FERRY-LIST",
    ]
    /// The properties that become fields of their names.
    private static let fields: Set<String> = [
        "LOCATION", "URL", "GEO", "RELATED-TO", "ORGANIZER", "CONTACT", "COMMENT", "CLASS", "PERCENT-COMPLETE",
    ]
    /// The values of properties that say no more than their absence.
    private static let defaults: [String: Set<String>] = ["CLASS": ["PUBLIC"], "PERCENT-COMPLETE": ["0", "100"]]
    /// The parameters that are read, or say no more than the value.
    private static let readParameters: Set<String> = ["VALUE", "TZID", "LANGUAGE"]

    private static func read(_ property: Property, into record: inout ImportRecord) {
        switch property.name {
        case "SUMMARY", "UID", "DTSTAMP", "LAST-MODIFIED", "SEQUENCE": break
        case "DESCRIPTION": record.change.notes = property.text + (property.text.hasSuffix("\n") ? "" : "\n")
        case "STATUS":
            if !["COMPLETED", "NEEDS-ACTION"].contains(property.value.uppercased()) {
                record.change.texts["status"] = property.value.lowercased()
            }
        case "DUE": if let date = date(property, &record) { record.change.due = date.text }
        case "DTSTART": if let date = date(property, &record) { record.change.texts["scheduled"] = date.text }
        case "COMPLETED":
            if let date = moment(property, &record) { record.change.texts["completedDate"] = "\(date.day)" }
        case "CREATED": if let date = moment(property, &record) { record.change.texts["createdDate"] = "\(date.day)" }
        case "PRIORITY": readPriority(property.value, into: &record)
        case "CATEGORIES":
            var tags = record.change.tags ?? []
            for tag in property.texts.map(\.trimmingSpaces) where !tag.isEmpty && !tags.contains(tag) {
                tags.append(tag)
            }
            record.change.tags = tags
        case "RRULE":
            do throws(RecurrenceProblem) {
                record.setRecurrence(try RecurrenceRule(parsing: property.value), isFromCompletion: false)
            } catch {
                record.change.texts["rrule"] = property.value
                record.changes.append("its rule is not understood (\(error.description)); it is kept as a field")
            }
        case "X-FERRY-LIST": record.change.list = property.text
        case let name where fields.contains(name):
            guard defaults[name]?.contains(property.value.uppercased()) != true else { return }
            let key = name.lowercased()
            // A task can have several of some properties, such as comments.
            if record.change.texts[key]?.append("\n" + property.text) == nil {
                record.change.texts[key] = property.text
            }
        default:
            record.changes.append("\(property.name) is left out")
            return
        }
        for name in property.parameters.keys.sorted() where !readParameters.contains(name) {
            record.changes.append("the \(name) of \(property.name) is left out")
        }
    }

    private static func readPriority(_ value: String, into record: inout ImportRecord) {
        switch Int(value) {
        case (1...4)?: record.change.priority = .high
        case 5?: record.change.priority = .medium
        case (6...9)?: record.change.priority = .low
        case 0?: break
        default:
            record.change.texts["priority"] = value
            record.changes.append("PRIORITY '\(value)' is none of 0 to 9; it is kept as a field")
        }
    }

    /// Returns the date of a task's own time; its zone becomes that of the task.
    private static func date(_ property: Property, _ record: inout ImportRecord) -> ExchangeDate? {
        guard let date = moment(property, &record) else { return nil }
        if let zone = property.parameters["TZID"], date.second != nil, date.offset == nil {
            if zones[zone] != nil, [zone, nil].contains(record.change.texts["tzid"]) {
                record.change.texts["tzid"] = zone
                return date
            }
            record.changes.append("\(property.name) is the time on the clock in \(zone)")
        }
        return date
    }

    private static func moment(_ property: Property, _ record: inout ImportRecord) -> ExchangeDate? {
        guard let date = ExchangeDate(basic: property.value) else {
            record.changes.append("\(property.name) '\(property.value)' is not a time and is left out")
            return nil
        }
        return date
    }

    // MARK: Writing

    /// Returns a task as a VTODO, and what of it is left out.
    static func component(_ task: TaskDetail) -> (lines: [String], leftOut: [String]) {
        let summary = task.summary
        var leftOut: [String] = []
        var lines = ["BEGIN:VTODO", "UID:\(summary.id)@ferry"]
        let zone = Self.zone(of: task)
        func date(_ name: String, _ text: String) {
            guard let date = ExchangeDate(text) else { return leftOut.append("\(name.lowercased()) '\(text)'") }
            let isZoned = date.second != nil && date.offset == nil
            let parameter = date.second == nil ? ";VALUE=DATE" : isZoned ? zone.map { ";TZID=\($0.name)" } ?? "" : ""
            lines.append("\(name)\(parameter):\(date.basic)")
        }
        func stamp(_ name: String, _ time: String?) {
            guard let time, let moment = ExchangeDate(String(time.prefix(19)) + "Z") else { return }
            lines.append("\(name):\(moment.basic)")
        }
        stamp("DTSTAMP", task.updatedTime ?? "1970-01-01T00:00:00Z")
        stamp("CREATED", task.createdTime)
        lines.append("SUMMARY:\(escaped(summary.title))")
        if !task.notes.isEmpty { lines.append("DESCRIPTION:\(escaped(task.notes))") }
        if let due = summary.due { date("DUE", due) }
        if let scheduled = task.fields["scheduled"] { date("DTSTART", scheduled) }
        switch summary.priority {
        case .high: lines.append("PRIORITY:1")
        case .medium: lines.append("PRIORITY:5")
        case .low: lines.append("PRIORITY:9")
        case .none: break
        }
        if !summary.tags.isEmpty { lines.append("CATEGORIES:\(summary.tags.map(escaped).joined(separator: ","))") }
        if !summary.list.isEmpty { lines.append("X-FERRY-LIST:\(escaped(summary.list))") }
        lines.append("STATUS:\(summary.isCompleted ? "COMPLETED" : "NEEDS-ACTION")")
        if summary.isCompleted { stamp("COMPLETED", task.completedTime) }
        if let (rule, _) = ExchangeRecurrence.rule(of: task.fields) { lines.append("RRULE:\(rule)") }
        let written: Set = ["scheduled", "createdDate", "completedDate"]
        leftOut += task.leftOutFields(besides: zone == nil ? written : written.union(["tzid"]))
        return (lines + ["END:VTODO"], leftOut)
    }

    /// Returns the zone of the times of a task that have no offset; nil if it has none that is known.
    private static func zone(of task: TaskDetail) -> CalendarZone? {
        task.fields["tzid"].flatMap { name in zones[name].map { CalendarZone(name: name, offsets: $0) } }
    }

    /// Returns the text of a file with the tasks and their zones, without the end of its last line, and
    /// what is left out of each task. Lines are folded to 75 bytes.
    ///
    /// - Parameter today: The day around which changes of the clocks are described.
    static func file(_ tasks: [TaskDetail], today: CalendarDay) -> (text: String, leftOut: [[String]]) {
        let components = tasks.map { component($0) }
        let zones = Dictionary(tasks.compactMap { zone(of: $0).map { ($0.name, $0) } }, uniquingKeysWith: { $1 })
        let descriptions = zones.sorted { $0.key < $1.key }.flatMap { $0.value.lines(around: today) }
        let lines =
            ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Ferry//Ferry//EN"] + descriptions
            + components.flatMap(\.lines) + ["END:VCALENDAR"]
        return (lines.map(folded).joined(separator: "\r\n"), components.map(\.leftOut))
    }

    private static func folded(_ line: String) -> String {
        var text = ""
        var length = 0
        for scalar in line.unicodeScalars {
            let count = UTF8.width(scalar)
            if length + count > 75 {
                text += "\r\n "
                length = 1
            }
            text.unicodeScalars.append(scalar)
            length += count
        }
        return text
    }

    private static func escaped(_ text: String) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in text.replacing("\r\n", with: "\n").unicodeScalars {
            if "\\;,\n\r".unicodeScalars.contains(scalar) { escaped.append("\\") }
            escaped.append(scalar == "\n" || scalar == "\r" ? "n" : scalar)
        }
        return String(escaped)
    }
}
