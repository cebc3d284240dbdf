package import CivilTime
import DocumentModel
package import TaskModel

/// The text of a mail with the open tasks that are due today or overdue. A value of tasks, time and time
/// zone.
package struct MorningDigest: Sendable, Hashable {
    package let subject: String
    /// The lines of the mail, which end with `\n`. Titles cannot break lines or hide text.
    package let text: String

    /// The number of tasks of each part that are listed; of the rest only the number is given.
    private static let listed = 100
    /// The number of characters of a title, counted as Unicode scalars. A line of a mail may have 998
    /// bytes.
    private static let titleLength = 200
    private static let weekdays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]

    private struct Line {
        let day: CalendarDay
        /// The time of day; empty for a day without one.
        let time: String
        let task: TaskItem
    }

    /// Creates the digest; nil if no task is due.
    ///
    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - zone: the zone of the reader.
    ///   - zones: returns the zone of a name, which a task may have; nil if there is none.
    package init?(
        _ tasks: [TaskItem], at now: Int64, in zone: ZoneOffsets, zones: (String) -> ZoneOffsets? = { _ in nil }
    ) {
        let today = UTCTime(seconds: zone.local(at: now)).day
        let lines = tasks.filter { !$0.isCompleted(in: .standard) && !$0.isDeleted }
            .compactMap { Self.line($0, zone, zones) }
            .filter { $0.day <= today }.sorted(by: Self.precedes)
        guard !lines.isEmpty else { return nil }
        let due = lines.filter { $0.day == today }
        let overdue = lines.filter { $0.day < today }
        let counts = [
            due.isEmpty ? nil : "\(due.count) due today", overdue.isEmpty ? nil : "\(overdue.count) overdue",
        ]
        subject = "Tasks: \(counts.compactMap(\.self).joined(separator: ", "))"
        text =
            Self.part("Today, \(Self.weekdays[today.weekday - 1]) \(today)", due) { $0.time }
            + Self.part("Overdue", overdue) { line in line.time.isEmpty ? "\(line.day)" : "\(line.day) \(line.time)" }
    }

    private static func part(_ heading: String, _ lines: [Line], when: (Line) -> String) -> String {
        guard !lines.isEmpty else { return "" }
        var text = "\(heading)\n\n"
        for line in lines.prefix(listed) {
            let when = when(line)
            text += "- \(when.isEmpty ? "" : "\(when)  ")\(title(line.task.title))"
            text += line.task.priority(in: .standard) == .high ? " (high)\n" : "\n"
        }
        if lines.count > listed { text += "and \(lines.count - listed) more\n" }
        return text + "\n"
    }

    private static func line(_ task: TaskItem, _ zone: ZoneOffsets, _ zones: (String) -> ZoneOffsets?) -> Line? {
        guard let due = task.anyDue else { return nil }
        let seconds = due.timestamp.seconds
        var instant = due.kind == .instant ? seconds : nil
        if due.kind == .localTime, let own = task.zoneName.flatMap(zones) { instant = own.instant(ofLocal: seconds) }
        // Days, and times without an offset or a zone, are those of every zone.
        let local = UTCTime(seconds: instant.map { zone.local(at: $0) } ?? seconds)
        let text = local.rfc3339(fraction: .none)
        return Line(day: local.day, time: due.hasTime ? String(text.dropFirst(11).prefix(5)) : "", task: task)
    }

    private static func precedes(_ left: Line, _ right: Line) -> Bool {
        if left.day != right.day { return left.day < right.day }
        if left.time != right.time { return left.time < right.time }
        return left.task.title.utf8.lexicographicallyPrecedes(right.task.title.utf8)
    }

    /// Returns a title on one line. Control characters, and those that turn the direction of text,
    /// become spaces.
    private static func title(_ text: String) -> String {
        var title = String.UnicodeScalarView()
        for scalar in text.unicodeScalars.prefix(titleLength) {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: title.append(" ")
            default:
                let isTurning = (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
                title.append(isTurning ? " " : scalar)
            }
        }
        return String(title) + (text.unicodeScalars.count > titleLength ? "…" : "")
    }
}
