import CivilTime
import CommandLineTool
import Control

/// A list of tasks in parts with headings.
struct TaskGroups {
    /// The property by which tasks are grouped.
    enum Key: String, CaseIterable {
        case list
        case due
        case priority
        case tag
    }

    /// The parts in order. A task with several tags is in several parts of a list by tags.
    let groups: [(heading: String, tasks: [TaskSummary])]
    private let key: Key

    /// Groups tasks and keeps their order within each group.
    init(_ tasks: [TaskSummary], by key: Key, today: CalendarDay) {
        var groups: [(order: String, heading: String, tasks: [TaskSummary])] = []
        var places: [String: Int] = [:]
        for task in tasks {
            for (order, heading) in Self.headings(of: task, by: key, today: today) {
                if let place = places[order] {
                    groups[place].tasks.append(task)
                } else {
                    places[order] = groups.count
                    groups.append((order, heading, [task]))
                }
            }
        }
        self.key = key
        self.groups = groups.sorted { $0.order < $1.order }.map { ($0.heading, $0.tasks) }
    }

    /// Returns the key of a name.
    ///
    /// - Throws: `UsageError` for an unknown name.
    static func key(_ name: String) throws -> Key {
        guard let key = Key(rawValue: name) else {
            throw UsageError("Tasks are grouped by list, due, priority or tag, not by '\(name)'.", path: ["list"])
        }
        return key
    }

    /// Prints the groups: under headings on a terminal, elsewhere one after the other.
    func print(on terminal: Terminal) {
        let table = TaskTable(terminal: terminal)
        guard terminal.isInteractive else { return table.print(groups.flatMap(\.tasks), showsList: true) }
        for (index, group) in groups.enumerated() {
            if index > 0 { terminal.print("") }
            terminal.print(terminal.styled(terminal.shown(group.heading), .bold))
            table.print(group.tasks, showsList: key != .list)
        }
    }

    /// Returns the headings of the groups of a task, each with a text that orders the groups.
    private static func headings(
        of task: TaskSummary, by key: Key, today: CalendarDay
    ) -> [(order: String, heading: String)] {
        switch key {
        case .list:
            return [task.list.isEmpty ? ("", "Inbox") : ("1" + task.list.lowercased() + "\u{0}" + task.list, task.list)]
        case .due:
            let due = task.localDue ?? task.due
            let heading = AgendaHeading(due, today: today).text
            guard let day = due.flatMap({ CalendarDay($0.prefix(10)) }) else { return [("9", heading)] }
            return [(day < today ? "0" : "1\(day)", heading)]
        case .priority:
            let place = TaskSummary.Priority.allCases.firstIndex(of: task.priority) ?? 0
            return [("\(place)", task.priority == .none ? "No priority" : task.priority.rawValue.capitalizedWord)]
        case .tag:
            if task.tags.isEmpty { return [("2", "No tags")] }
            return task.tags.map { ("1" + $0.lowercased() + "\u{0}" + $0, "+" + $0) }
        }
    }
}

extension String {
    /// The word with its first letter in upper case.
    fileprivate var capitalizedWord: String { prefix(1).uppercased() + dropFirst() }
}
