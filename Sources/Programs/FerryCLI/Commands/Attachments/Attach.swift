import CommandLineTool
import Control
import Glibc
import SystemIO

extension Command {
    static let attach = Command.daemon(
        "attach", group: "Attachments", summary: "attaches files to a task",
        discussion: """
            Shows progress until the files are on the server. Ctrl-C stops watching; the daemon continues with the files
            that it has. While syncing is paused or the server cannot be reached, the files are attached and uploaded
            later; the exit status is 5. A single - reads standard input and needs --name. Of a directory, all files in
            it and below it are attached except hidden ones and links, all side by side; a name that is taken gets a
            number. A file that cannot be attached because its name is not UTF-8 or because it is too deep is reported,
            and the exit status is 8.

                ferry attach milk receipt.pdf photo.jpg
            """,
        arguments: [.task(), Argument("FILE", .some, summary: "files and directories to attach", completion: .files)],
        options: [
            Option("name", value: "NAME", summary: "the attachment's name, for one file or standard input"),
            Option("no-wait", summary: "return as soon as the daemon has the files"), .json,
        ]
    ) { context in
        let paths = context.arguments.arguments("FILE")
        let name = context.arguments.value("name")
        guard name == nil || paths.count == 1 else {
            throw UsageError("--name is for one file only.", path: ["attach"])
        }
        var spool: Spool?
        defer { spool?.remove() }
        var files: [FileToAttach] = []
        var isComplete = true
        for path in paths {
            if path == "-" {
                guard name != nil, spool == nil else {
                    throw UsageError("Standard input needs a name: --name NAME.", path: ["attach"])
                }
                spool = try Spool.standardInput()
            }
            files += try context.files(at: spool?.path ?? path, name: name) { skipped, why in
                isComplete = false
                context.terminal.note("ferry: \(skipped.printable) is not attached. \(why.reason.printable)")
            }
        }
        Interruption.says(
            "\nferry: stopped. The transfers that 'ferry transfers' shows continue; other files are not attached.\n")
        let task = try await context.task()
        var transfers: [TransferSummary] = []
        var failure: (any Error)?
        do {
            for group in FileToAttach.groups(of: files) {
                let name = group.count == 1 ? group[0].displayName : "\(group.count) files"
                transfers += try await context.announcing("Copying \(name) into the tasks directory.") {
                    try await context.service.attach(task, group)
                }
            }
        } catch {
            // Files that the daemon already has are watched nevertheless.
            failure = error
        }
        // The daemon has a copy, so the spooled file is not needed even if watching fails.
        spool?.remove()
        if !context.arguments.has("no-wait"), !transfers.isEmpty {
            do { transfers = try await context.watch(transfers) } catch let standstill as CommandFailure {
                failure = failure ?? standstill
            }
        } else if let standstill = try? await context.service.status().standstill {
            context.terminal.note("Attached here, and not sent yet: \(standstill.message.printable)")
        }
        if context.wantsJSON, !transfers.isEmpty { context.print(document: ("transfers", transfers.json)) }
        if let failure { throw failure }
        let status = context.status(of: transfers)
        return isComplete || status != .success ? status : .partlyDone
    }
}

extension CommandContext {
    /// Returns the file, or the files of the directory.
    ///
    /// - Parameter skip: Called with each entry that cannot be attached.
    fileprivate func files(at path: String, name: String?, skip: (String, SkippedFile) -> Void) throws -> [FileToAttach]
    {
        guard let resolved = realpath(path, nil) else {
            // Arguments that are not UTF-8 arrive with this character in place of the invalid
            // bytes.
            if path.unicodeScalars.contains("\u{FFFD}") {
                throw CommandFailure("\(path.printable): the name is not UTF-8. Rename the file.", status: .notFound)
            }
            throw CommandFailure("\(path.printable): \(String(cString: strerror(errno))).", status: .notFound)
        }
        defer { free(resolved) }
        let absolute = String(cString: resolved)
        var status = stat()
        switch stat(resolved, &status) == 0 ? status.st_mode & S_IFMT : 0 {
        case S_IFREG: return [FileToAttach(path: absolute, name: name)]
        case S_IFDIR:
            guard name == nil else {
                throw UsageError("--name is for one file, and \(path.printable) is a directory.", path: ["attach"])
            }
            var found: [String] = []
            try Directory(path: absolute).forEachVisibleFile(
                { found.append(absolute + "/" + $0) },
                skip: { path, why in
                    switch why {
                    case .hidden, .link, .special: break
                    case .name, .depth, .unreadable: skip(absolute + "/" + path, why)
                    }
                })
            guard !found.isEmpty else { throw CommandFailure("\(path.printable) has no files to attach.") }
            return found.sorted().map { FileToAttach(path: $0) }
        default: throw CommandFailure("\(path.printable) is neither a regular file nor a directory.")
        }
    }

    /// Reports failed transfers, and returns the most severe exit status.
    func status(of transfers: [TransferSummary]) -> ExitStatus {
        let failed = transfers.filter { $0.state == .failed || $0.state == .cancelled }
        for transfer in failed {
            terminal.note(
                "ferry: \(transfer.name.printable): \((transfer.reason ?? transfer.state.rawValue).printable)")
        }
        return failed.isEmpty ? .success : failed.count == transfers.count ? .failure : .partlyDone
    }
}

extension FileToAttach {
    /// The attachment's name, for people.
    fileprivate var displayName: String { (name ?? path.split(separator: "/").last.map(String.init) ?? path).printable }

    private static let groupCount = 256
    private static let groupBytes: Int64 = 64 << 20

    /// Groups files to attach them in one request each, because every request costs as much as
    /// writing the task's document. A group is limited in bytes, so that the first upload does not
    /// wait long for copies of other files.
    static func groups(of files: [FileToAttach]) -> [[FileToAttach]] {
        var groups: [[FileToAttach]] = []
        var bytes: Int64 = 0
        for file in files {
            var status = stat()
            let size = stat(file.path, &status) == 0 ? Int64(status.st_size) : 0
            if let group = groups.last, group.count < groupCount, bytes.saturatingAdded(to: size) <= groupBytes {
                groups[groups.count - 1].append(file)
                bytes = bytes.saturatingAdded(to: size)
            } else {
                groups.append([file])
                bytes = size
            }
        }
        return groups
    }
}
