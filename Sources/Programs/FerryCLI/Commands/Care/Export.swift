import CommandLineTool
import Control
import JSON
import SystemIO

extension Command {
    static let export = Command.daemon(
        "export", group: "Care", summary: "writes all tasks as text in one of several formats, or copies their files",
        discussion: """
            NDJSON has one task per line, with everything except the trash, the history and the bytes of attachments.
            The other formats have no place for some fields, which are named on standard error, task by task.
            With --directory the task files are copied unchanged, with the attachments that are on this machine; files
            that are not synced, such as one with front matter that cannot be parsed, are copied too. An incomplete
            export of files ends with an error.

                ferry export > tasks.ndjson
                ferry export --format todo.txt > todo.txt
                ferry export --directory ~/backup/tasks
            """,
        options: [
            Option(
                "format", value: "FORMAT", summary: "\(ExportFormat.names) (default: ndjson)",
                completion: .words(ExportFormat.allCases.map(\.rawValue))),
            Option(
                "directory", short: "d", value: "DIR", summary: "copy the files to this new directory",
                completion: .directories),
            Option("json", summary: "with --directory, print one JSON document"),
        ]
    ) { context in
        let directory = context.arguments.value("directory")
        let name = context.arguments.value("format") ?? (directory == nil ? ExportFormat.ndjson : .files).rawValue
        guard let format = ExportFormat(rawValue: name) else {
            throw UsageError("There is no format '\(name)'; use \(ExportFormat.names).", path: ["export"])
        }
        guard (format == .files) == (directory != nil) else {
            throw UsageError("--directory DIR belongs to the format files.", path: ["export"])
        }
        guard let directory else { return try await TextExport(context: context).run(format) }
        do { return try await FileExport(context: context).run(to: directory) } catch let error as SystemError {
            throw CommandFailure(
                "\(error.message).", hint: "\(directory) is incomplete; remove it and export again.")
        }
    }
}

extension ExportFormat {
    static let names = allCases.dropLast().map(\.rawValue).joined(separator: ", ") + " or files"
}

/// Prints all tasks in a format.
private struct TextExport {
    let context: CommandContext

    private var terminal: Terminal { context.terminal }

    /// Prints the tasks, and names for each the fields that the format has no place for.
    func run(_ format: ExportFormat) async throws -> ExitStatus {
        try await context.waitForScan()
        let service = context.service
        var tasks: [TaskDetail] = []
        for summary in try await service.tasks(TaskFilter()).summaries() {
            do {
                let task = try await service.task(summary.id)
                if format == .ndjson {
                    terminal.print(task.json.text)
                    try StandardOutput.check()
                } else {
                    tasks.append(task)
                }
            } catch let error as ControlError where error.code == .notFound {
                // The task was deleted meanwhile.
                continue
            }
        }
        switch format {
        case .ndjson, .files: return .success
        case .todo:
            let lines = tasks.map(TodoLine.line)
            terminal.print(lines: lines.map(\.text))
            note(zip(tasks, lines.map(\.leftOut)))
        case .csv:
            let rows = CSVFile.table(tasks)
            terminal.print(lines: rows.map(\.text))
            note(zip(tasks, rows.dropFirst().map(\.leftOut)))
        case .taskwarrior:
            let objects = tasks.map(TaskwarriorFile.object)
            terminal.print("[\n" + objects.map(\.text).joined(separator: ",\n") + "\n]")
            note(zip(tasks, objects.map(\.leftOut)))
        case .ics:
            let file = CalendarFile.file(tasks, today: context.due.today)
            terminal.print(file.text + "\r")
            note(zip(tasks, file.leftOut))
        }
        try StandardOutput.check()
        return .success
    }

    private func note(_ leftOut: some Sequence<(TaskDetail, [String])>) {
        for (task, names) in leftOut where !names.isEmpty {
            terminal.note(
                "ferry: \(task.summary.title.printable): left out: \(names.joined(separator: ", ").printable).")
        }
    }
}
