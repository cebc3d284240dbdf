import CommandLineTool
import Control
import Glibc

extension Command {
    static let attach = Command.daemon(
        "attach", group: "Attachments", summary: "attaches files to a task",
        discussion: """
            Shows progress until the files are on the remote. Ctrl-C stops watching only: the daemon goes on. A single - reads
            standard input and needs --name.

                ferry attach milk receipt.pdf photo.jpg
            """,
        arguments: [.task(), Argument("FILE", .some, summary: "files to attach", completion: .files)],
        options: [
            Option("name", value: "NAME", summary: "the attachment's name, for one file or standard input"),
            Option("no-wait", summary: "return as soon as the daemon has the files"), .json,
        ]
    ) { context in
        let files = context.arguments.arguments("FILE")
        let name = context.arguments.value("name")
        guard name == nil || files.count == 1 else {
            throw UsageError("--name is for one file only.", path: ["attach"])
        }
        var transfers: [TransferSummary] = []
        for file in files { transfers.append(try await context.attach(file, name: name)) }
        if !context.arguments.has("no-wait") { transfers = try await context.watch(transfers) }
        if context.wantsJSON { context.print(document: ("transfers", transfers.json)) }
        return context.status(of: transfers)
    }
}

extension CommandContext {
    fileprivate func attach(_ file: String, name: String?) async throws -> TransferSummary {
        let task = arguments.argument("TASK") ?? ""
        guard file == "-" else { return try await service.attach(task, path: try absolutePath(file), name: name) }
        guard let name else { throw UsageError("Standard input needs a name: --name NAME.", path: ["attach"]) }
        let spool = try Spool.standardInput()
        defer { spool.remove() }
        return try await service.attach(task, path: spool.path, name: name)
    }

    /// The path that the daemon can open: absolute, and of a file that is there.
    private func absolutePath(_ path: String) throws -> String {
        guard let resolved = realpath(path, nil) else {
            throw CommandFailure("\(path.printable): \(String(cString: strerror(errno))).", status: .notFound)
        }
        defer { free(resolved) }
        var status = stat()
        guard stat(resolved, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw CommandFailure("\(path.printable) is not a regular file.", hint: "Pack a directory first: tar -c.")
        }
        return String(cString: resolved)
    }

    /// The worst outcome.
    func status(of transfers: [TransferSummary]) -> ExitStatus {
        let failed = transfers.filter { $0.state == .failed || $0.state == .cancelled }
        for transfer in failed {
            terminal.note("ferry: \(transfer.name.printable): \(transfer.reason ?? transfer.state.rawValue)")
        }
        return failed.isEmpty ? .success : failed.count == transfers.count ? .failure : .partlyDone
    }
}

/// Standard input in a file that the daemon can read.
private struct Spool {
    let path: String

    static func standardInput() throws -> Spool {
        let directory = Environment["XDG_RUNTIME_DIR"] ?? Environment["TMPDIR"] ?? "/tmp"
        var template = Array("\(directory)/ferry-attach-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard descriptor >= 0 else { throw CommandFailure("\(directory): \(String(cString: strerror(errno))).") }
        defer { close(descriptor) }
        let spool = Spool(path: path)
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return spool }
            var written = 0
            while written < count {
                let step = buffer.withUnsafeBytes {
                    write(descriptor, $0.baseAddress.map { $0 + written }, count - written)
                }
                if step < 0, errno == EINTR { continue }
                guard step > 0 else {
                    spool.remove()
                    throw CommandFailure("\(path): \(String(cString: strerror(errno))).")
                }
                written += step
            }
        }
    }

    func remove() { unlink(path) }
}
