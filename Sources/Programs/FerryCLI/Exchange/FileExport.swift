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
        // What the directory has, not what the daemon knows: a file of this second is the user's data, too, and so is
        // one that cannot be synced.
        let files = try source.files().tasks
        var copied: Set<String> = []
        for path in files.flatMap({ [$0.path] + $0.attachments }) {
            try target.copy(path, of: source, to: path)
            copied.insert(path)
        }
        var missing: [String] = []
        for task in try await context.service.tasks(TaskFilter()).summaries() {
            if !copied.contains(task.path ?? "") { missing.append(task.title) }
            guard task.attachmentCount > 0 else { continue }
            let attachments = try await context.service.task(task.id).attachments
            missing += attachments.filter { !copied.contains($0.path ?? "") }.map { "\(task.title): \($0.name)" }
        }
        let (tasks, attachments) = (files.count, copied.count - files.count)
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
