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
                    // Deleted meanwhile.
                    continue
                }
                try StandardOutput.check()
            }
            return .success
        }
        do { return try await context.copyFiles(to: directory) } catch let error as SystemError {
            throw CommandFailure(
                "\(error.message).", hint: "What is in \(directory) is only a part; remove it and export again.")
        }
    }
}

extension CommandContext {
    fileprivate func copyFiles(to path: String) async throws -> ExitStatus {
        try FileSystem.makeDirectories(path)
        guard try Directory(path: path).entries().isEmpty else {
            throw CommandFailure("The directory \(path.printable) is not empty.", hint: "Name a new one.")
        }
        try await waitForScan()
        let status = try await service.status()
        let source = try TaskDirectory(status.tasksDirectory)
        let target = try TaskDirectory(path)
        var (tasks, attachments) = (0, 0)
        var missing: [String] = []
        var copied: Set<String> = []
        for task in try await service.tasks(TaskFilter()).summaries() {
            guard let file = task.path else {
                missing.append(task.title)
                continue
            }
            guard try source.has(file) else {
                missing.append(task.title)
                continue
            }
            try target.copy(file, of: source, to: file)
            tasks += 1
            copied.insert(file)
            guard task.attachmentCount > 0 else { continue }
            for attachment in try await service.task(task.id).attachments {
                guard let place = attachment.path else {
                    missing.append("\(task.title): \(attachment.name)")
                    continue
                }
                try target.copy(place, of: source, to: place)
                attachments += 1
            }
        }
        // What is out of sync is the user's all the same.
        for problem in status.problems {
            guard let file = problem.subject, file.hasSuffix(TaskDirectory.suffix), copied.insert(file).inserted,
                try source.isFile(file)
            else { continue }
            try target.copy(file, of: source, to: file)
            tasks += 1
        }
        if wantsJSON {
            print(
                document: ("tasks", .integer(Int64(tasks))), ("attachments", .integer(Int64(attachments))),
                ("missing", .array(missing.map { .string($0) })))
        } else {
            terminal.note(
                "\(Count(tasks, "task")) and \(Count(attachments, "attachment")) copied to \(path.printable).")
            for name in missing {
                terminal.note("ferry: \(name.printable) is not here; 'ferry get' brings attachments.")
            }
        }
        return missing.isEmpty ? .success : .partlyDone
    }
}
