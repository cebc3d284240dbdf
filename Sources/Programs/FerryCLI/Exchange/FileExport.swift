import CommandLineTool
import Control
import JSON
import SystemIO

/// Copies the task files and attachments of the tasks directory to another directory.
struct FileExport {
    let context: CommandContext

    /// Copies the files.
    ///
    /// - Parameter path: A directory that is empty or does not exist.
    /// - Returns: `.partlyDone` if an attachment or a task's file is not on this machine.
    func run(to path: String) async throws -> ExitStatus {
        try FileSystem.makeDirectories(path)
        guard try Directory(path: path).entries().isEmpty else {
            throw CommandFailure("The directory \(path.printable) is not empty.", hint: "Name a new one.")
        }
        try await context.waitForScan()
        let status = try await context.service.status()
        let source = try TaskDirectory(status.tasksDirectory)
        let target = try TaskDirectory(path)
        var (tasks, attachments) = (0, 0)
        var missing: [String] = []
        var copied: Set<String> = []
        for task in try await context.service.tasks(TaskFilter()).summaries() {
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
            for attachment in try await context.service.task(task.id).attachments {
                guard let place = attachment.path else {
                    missing.append("\(task.title): \(attachment.name)")
                    continue
                }
                try target.copy(place, of: source, to: place)
                attachments += 1
            }
        }
        // A file that is not synced is also the user's data.
        for problem in status.problems {
            guard let file = problem.subject, file.hasSuffix(TaskDirectory.suffix), copied.insert(file).inserted,
                try source.isFile(file)
            else { continue }
            try target.copy(file, of: source, to: file)
            tasks += 1
        }
        if context.wantsJSON {
            context.print(
                document: ("tasks", .integer(Int64(tasks))), ("attachments", .integer(Int64(attachments))),
                ("missing", .array(missing.map { .string($0) })))
        } else {
            context.terminal.note(
                "\(Count(tasks, "task")) and \(Count(attachments, "attachment")) copied to \(path.printable).")
            for name in missing {
                context.terminal.note("ferry: \(name.printable) is not here; 'ferry get' downloads attachments.")
            }
        }
        return missing.isEmpty ? .success : .partlyDone
    }
}
