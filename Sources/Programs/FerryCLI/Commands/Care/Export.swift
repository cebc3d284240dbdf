import CommandLineTool
import Control
import JSON
import SystemIO

extension Command {
    static let export = Command.daemon(
        "export", group: "Care", summary: "writes all tasks as NDJSON, or copies their files to a directory",
        discussion: """
            NDJSON, one task a line, has everything but the trash, the history and the bytes of attachments. With --directory the task
            files are copied as they are, with the attachments that are here; files that are not synced, such as one whose front
            matter cannot be parsed, are copied too. What could not be written whole ends with an error that says so.

                ferry export > tasks.ndjson
                ferry export --directory ~/backup/tasks
            """,
        options: [
            Option(
                "directory", short: "d", value: "DIR", summary: "copy the files to this new directory",
                completion: .directories),
            Option("json", summary: "with --directory, print one JSON document"),
        ]
    ) { context in
        guard let directory = context.arguments.value("directory") else {
            try await context.waitForScan()
            for task in try await context.service.tasks(TaskFilter()).summaries() {
                do { context.terminal.print(try await context.service.task(task.id).json.text) } catch let error
                    as ControlError
                    where error.code == .notFound
                {
                    // The task was deleted meanwhile.
                    continue
                }
                try StandardOutput.check()
            }
            return .success
        }
        do { return try await FileExport(context: context).run(to: directory) } catch let error as SystemError {
            throw CommandFailure(
                "\(error.message).", hint: "What is in \(directory) is only a part; remove it and export again.")
        }
    }
}
