import CivilTime
import CommandLineTool
import Control

extension Command {
    static let today = Command.daemon(
        "today", group: "Tasks", summary: "shows the open tasks that are overdue or due today", options: [.json]
    ) { context in
        try await Agenda(context: context, days: 1).show()
    }

    static let agenda = Command.daemon(
        "agenda", group: "Tasks", summary: "shows the open tasks of the next days by day, after those that are overdue",
        options: [Option("days", value: "N", summary: "the number of days from today, by default 7"), .json]
    ) { context in
        let text = context.arguments.value("days") ?? "7"
        guard let days = Int(text), (1...3650).contains(days) else {
            throw UsageError("--days is a number from 1 to 3650, not '\(text)'.", path: ["agenda"])
        }
        return try await Agenda(context: context, days: days).show()
    }
}

/// The open tasks that are due within a number of days from today.
private struct Agenda {
    let context: CommandContext
    let days: Int

    /// Prints the tasks: under a heading for each day on a terminal, elsewhere as `list` does.
    func show() async throws -> ExitStatus {
        let (terminal, due) = (context.terminal, context.due)
        let last = due.today.adding(days: days - 1)
        let listing = try await context.service.tasks(
            TaskFilter(isCompleted: false, due: "through:\(last)", today: due.today.description))
        if context.wantsJSON {
            terminal.print(String(decoding: try await listing.bytes(), as: UTF8.self))
            return .success
        }
        let tasks = try await listing.summaries()
        if tasks.isEmpty, terminal.isInteractive {
            terminal.note(days == 1 ? "Nothing is due today." : "Nothing is due.")
        }
        TaskGroups(tasks, by: .due, today: due.today).print(on: terminal)
        return .success
    }
}

/// The heading under which an agenda shows a task.
struct AgendaHeading: Equatable {
    private static let weekdays = [
        "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
    ]

    let text: String

    /// - Parameter due: A date or a time, of which the date counts.
    init(_ due: String?, today: CalendarDay) {
        guard let day = due.flatMap({ CalendarDay($0.prefix(10)) }) else {
            text = "Without a date"
            return
        }
        switch day.daysSinceEpoch - today.daysSinceEpoch {
        case ..<0: text = "Overdue"
        case 0: text = "Today"
        case 1: text = "Tomorrow"
        default: text = "\(Self.weekdays[day.weekday - 1]), \(day)"
        }
    }
}
