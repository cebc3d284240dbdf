import CommandLineTool
import Control
import Glibc
import JSON
import SystemIO
import Ustar

extension Command {
    static let supportBundle = Command.daemon(
        "support-bundle", group: "Care", summary: "packs diagnostic data without secrets or tasks",
        discussion: """
            A tar archive with the daemon's state, its last log lines, its settings and the output of doctor. Titles,
            file names, your e-mail address and your home directory are replaced; check it before you send it.
            """,
        arguments: [Argument("FILE", .optional, summary: "the file to create (ferry-support.tar)", completion: .files)],
        options: [.json]
    ) { context in
        let path = context.arguments.argument("FILE") ?? "ferry-support.tar"
        let archive = try await context.supportBundle()
        do {
            try FileSystem.replace(path.contains("/") ? path : "./\(path)", with: archive, mode: 0o600, exclusive: true)
        } catch let error as SystemError {
            throw CommandFailure("\(error.message).", hint: error.code == .exists ? "Name another file." : nil)
        }
        if context.wantsJSON {
            context.print(document: ("path", .string(path)))
        } else {
            context.terminal.print(path)
        }
        return .success
    }
}

extension CommandContext {
    fileprivate func supportBundle() async throws -> [UInt8] {
        let status = try await service.status()
        // Without an account there are no tasks to redact.
        let tasks = (try? await service.tasks(TaskFilter()).summaries()) ?? []
        let trash = ((try? await service.trash()) ?? []).map { TaskSummary(id: $0.taskID, title: $0.title) }
        let lists = (try? await service.lists()) ?? []
        let redaction = Redaction(tasks: tasks + trash, lists: lists, status: status, home: ProcessEnvironment["HOME"])
        let checks = Doctor.versions(daemon: status.version) + (try await service.health())
        let plain = Terminal(color: "never")
        let context = CommandContext(service: service, terminal: plain, arguments: arguments, due: due)
        let parts: [(String, String)] = [
            ("versions.txt", "ferry \(FerryTool.version)\nferryd \(status.version)\n\(Self.system)\n"),
            ("status.json", status.json.text + "\n"),
            ("doctor.txt", context.lines(of: checks).joined(separator: "\n") + "\n"),
            (
                "config.txt",
                try await service.configuration().map { "\($0.key)\t\($0.value)\t\($0.source)\n" }.joined()
            ),
            ("log.txt", try await service.log().map { "\($0.time) \($0.level) \($0.text)\n" }.joined()),
            (
                "tasks.txt",
                "\(tasks.count) tasks, \(tasks.filter { $0.sync == .pending }.count) pending, "
                    + "\(tasks.filter { $0.sync == .problem }.count) with problems, "
                    + "\(tasks.filter { $0.attachmentCount > 0 }.count) with attachments, \(lists.count) lists, \(trash.count) in the trash\n"
            ),
        ]
        var archive: [UInt8] = []
        let time = Environment.system.wallClock() / 1000
        for (name, text) in parts {
            let text = Array(redaction.applied(to: text).utf8)
            Ustar.append(text, named: "ferry-support/\(name)", time: time, to: &archive)
        }
        Ustar.end(&archive)
        return archive
    }

    private static var system: String {
        var name = utsname()
        guard uname(&name) == 0 else { return "unknown system" }
        return withUnsafeBytes(of: &name) { bytes in
            // struct utsname has fields of 65 bytes each. The second is the host's name, which is
            // private.
            let fields = stride(from: 0, to: bytes.count, by: 65).map { start in
                String(decoding: bytes[start..<min(start + 65, bytes.count)].prefix { $0 != 0 }, as: UTF8.self)
            }
            return [0, 2, 3, 4].compactMap { fields.indices.contains($0) ? fields[$0] : nil }.joined(separator: " ")
        }
    }
}
