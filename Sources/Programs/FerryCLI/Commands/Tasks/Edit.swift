import CommandLineTool
import Control
import SystemIO

extension Command {
    static let edit = Command.daemon(
        "edit", group: "Tasks", summary: "opens a task's file in your editor",
        discussion: "The editor is VISUAL, or EDITOR, or vi. You can edit the file with any other program too.",
        arguments: [.task()]
    ) { context in
        let path = try await context.file(of: try await context.task())
        let editor = ["VISUAL", "EDITOR"].lazy.compactMap { ProcessEnvironment[$0] }.first { !$0.isEmpty } ?? "vi"
        // The shell splits the options of the editor's command line, as in git(1).
        let status = try Program.run("/bin/sh", ["-c", "\(editor) \"$@\"", editor, path.absolute])
        guard status == 0 else {
            throw CommandFailure(
                "The editor \(editor.printable) ended with status \(status).",
                hint: "Set VISUAL to your editor.")
        }
        // A file that can no longer be read is reported at once rather than found later.
        let problems: [Problem]
        do { problems = try await context.service.sync(wait: false, timeout: .zero).problems } catch let error
            as ControlError
            where error.code == .paused
        {
            return .success
        }
        guard let problem = problems.first(where: { $0.subject == path.relative }) else { return .success }
        throw CommandFailure(
            "\(path.relative.printable): \(problem.message)", hint: "Fix it with 'ferry edit'; nothing is lost.",
            status: .attention)
    }
}

extension CommandContext {
    /// Returns the path of a task's file, relative to the tasks directory and absolute.
    func file(of task: String) async throws -> (relative: String, absolute: String) {
        let summary = try await service.task(task).summary
        guard let path = summary.path else {
            throw CommandFailure(
                "'\(summary.title.printable)' has no file here yet.", hint: "'ferry status' says what it waits for.",
                status: .notFound)
        }
        return (path, "\(try await service.status().tasksDirectory)/\(path)")
    }
}
