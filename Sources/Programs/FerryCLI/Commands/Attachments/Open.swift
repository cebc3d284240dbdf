import CommandLineTool
import Control
import Glibc
import SystemIO

extension Command {
    static let cat = Command.daemon(
        "cat", group: "Attachments", summary: "prints a task's file, or one of its attachments",
        arguments: [.task(), .attachment("FILE", .optional, "an attachment's name; the task's own file unless told")]
    ) { context in
        let path = try await context.place()
        try context.terminal.copy(try FileDescriptor(path: path, .read))
        return .success
    }

    static let open = Command.daemon(
        "open", group: "Attachments", summary: "opens a task's file, or an attachment, in its program",
        discussion: "Without a desktop session, the path is printed.",
        arguments: [.task(), .attachment("FILE", .optional, "an attachment's name; the task's own file unless told")]
    ) { context in
        let path = try await context.place()
        guard Desktop.opens else {
            context.terminal.print(path)
            return .success
        }
        return try Desktop.open(path) ? .success : .failure
    }
}

/// The desktop session, which has programs for files and pages.
enum Desktop {
    static var opens: Bool {
        ["WAYLAND_DISPLAY", "DISPLAY"].contains { ProcessEnvironment[$0].map { !$0.isEmpty } ?? false }
            && Program.isThere("xdg-open")
    }

    /// Opens a path or URL. Returns whether a program was found for it.
    static func open(_ place: String) throws -> Bool { try Program.run("xdg-open", [place]) == 0 }
}

extension CommandContext {
    /// Returns the absolute path of the file or attachment that the arguments name, downloading it
    /// if necessary.
    fileprivate func place() async throws -> String {
        let task = try await task()
        guard let wanted = arguments.argument("FILE") else { return try await file(of: task).absolute }
        let detail = try await service.task(task)
        guard let found = detail.attachment(meantBy: wanted) else {
            throw CommandFailure(
                "'\(detail.summary.title.printable)' has no attachment '\(wanted.printable)'.",
                hint: "'ferry attachments' lists them.", status: .notFound)
        }
        var path = found.path
        if path == nil {
            let transfers = try await watch([try await service.fetch(detail.summary.id, attachment: found.id)])
            if let failed = transfers.first(where: { $0.state != .done }) {
                throw CommandFailure(
                    "\(wanted.printable) could not be downloaded: \(failed.reason ?? failed.state.rawValue)",
                    hint: "'ferry transfers' shows it.")
            }
            path = try await service.task(detail.summary.id).attachments.first { $0.id == found.id }?.path
        }
        guard let path else {
            throw CommandFailure(
                "\(wanted.printable) is not downloaded yet.", hint: "'ferry transfers' shows what it waits for.",
                status: .offline)
        }
        return "\(try await service.status().tasksDirectory)/\(path)"
    }
}

extension Terminal {
    /// Copies a file to standard output.
    fileprivate func copy(_ file: borrowing FileDescriptor) throws {
        var offset: Int64 = 0
        while true {
            let bytes = try file.read(1 << 20, at: offset)
            guard !bytes.isEmpty else { return }
            offset += Int64(bytes.count)
            bytes.withUnsafeBytes { Self.write($0, to: .output) }
            try StandardOutput.check()
        }
    }
}
