import CommandLineTool
import Control
import JSON
import SystemIO

extension Command {
    static let export = Command.daemon(
        "export", group: "Care", summary: "writes all tasks as NDJSON, or copies their files to a directory",
        discussion: """
            NDJSON has one task per line, with everything except the trash, the history and the bytes of attachments.
            With --directory the task files are copied unchanged, with the attachments that are on this machine; files
            that are not synced, such as one with front matter that cannot be parsed, are copied too. An incomplete
            export ends with an error.

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
                "\(error.message).", hint: "\(directory) is incomplete; remove it and export again.")
        }
    }
}
