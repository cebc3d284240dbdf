import CommandLineTool
import Control
import JSON
import SystemIO

extension Command {
    static let `import` = Command.daemon(
        "import", group: "Care", summary: "imports tasks from Markdown files and the formats of other programs",
        discussion: """
            The files of a directory, or a single .md file, are copied byte for byte. Subdirectories become lists, and
            X.files next to X.md the attachments. NDJSON is the format of 'ferry export'. In todo.txt, +project becomes
            the tag project and @context the tag @context; A is high, B medium, and later letters low with the letter in
            the field todoPriority; the dates before the text become the fields completedDate and createdDate, t: becomes
            scheduled, and rec: a recurrence. taskwarrior is the output of 'task export', ics the tasks (VTODO) of a
            calendar, csv a table with a header that has at least a column title, and obsidian the task lines of a note.

            Each task is imported, imported with a reported change, or left out with a reason; then the exit status is
            8. Tasks that were imported before are left out, on any machine of the account, even if they have changed
            since. The times of creation and change are new and the server's.

                ferry import ~/vault/TaskNotes --list Notes --dry-run
                task export | ferry import - --format taskwarrior
            """,
        arguments: [
            Argument("PATH", summary: "a directory or a file; - is standard input", completion: .files)
        ],
        options: [
            Option(
                "list", short: "l", value: "NAME", summary: "put everything into this list",
                completion: .program("lists")),
            Option(
                "format", value: "FORMAT", summary: "\(ImportFormat.names) (default: by the path; NDJSON for -)",
                completion: .words(ImportFormat.allCases.map(\.rawValue))),
            Option("dry-run", short: "n", summary: "only report what would be done"), .json,
        ]
    ) { context in
        let path = context.arguments.argument("PATH") ?? "-"
        var run = ImportRun(context)
        do {
            let format = try context.importFormat(path)
            // The import compares with existing tasks, so all of them must be known.
            try await context.waitForScan()
            if format == .markdown {
                if try FileSystem.status(path).kind == .directory {
                    try await run.importDirectory(path)
                } else {
                    try await run.importFile(path)
                }
            } else {
                try await run.importRecords(path, format)
            }
        } catch let error as SystemError {
            throw CommandFailure("\(error.message).", status: error.code == .notFound ? .notFound : .failure)
        }
        context.show(run.result)
        return run.result.leftOut.isEmpty ? .success : .partlyDone
    }
}

enum ImportFormat: String, CaseIterable {
    case markdown
    case ndjson
    case todo = "todo.txt"
    case taskwarrior
    case ics
    case csv
    case obsidian

    static let names = allCases.dropLast().map(\.rawValue).joined(separator: ", ") + " or obsidian"
}

extension CommandContext {
    fileprivate func importFormat(_ path: String) throws -> ImportFormat {
        if let name = arguments.value("format") {
            guard let format = ImportFormat(rawValue: name) else {
                throw UsageError("There is no format '\(name)'; use \(ImportFormat.names).", path: ["import"])
            }
            return format
        }
        if path == "-" { return .ndjson }
        if try FileSystem.status(path).kind == .directory { return .markdown }
        if path.hasSuffix(TaskDirectory.suffix) { return .markdown }
        if path.hasSuffix(".txt") { return .todo }
        if path.hasSuffix(".ics") { return .ics }
        if path.hasSuffix(".csv") || path.hasSuffix(".tsv") { return .csv }
        if path.hasSuffix(".json") {
            // NDJSON has one object on each line, and Taskwarrior writes an array.
            let first = try FileSystem.read(path, limit: 256 << 20).first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
            return first == UInt8(ascii: "[") ? .taskwarrior : .ndjson
        }
        if path.hasSuffix(".ndjson") || path.hasSuffix(".jsonl") { return .ndjson }
        throw UsageError("The format of \(path) is unknown; give --format.", path: ["import"])
    }

    /// Waits until the daemon, which may just be starting, has scanned the whole tasks directory.
    func waitForScan() async throws {
        let clock = ContinuousClock()
        let end = clock.now + .seconds(60)
        while true {
            do {
                _ = try await service.sync(wait: false, timeout: .zero)
                return
            } catch let error as ControlError {
                switch error.code {
                case .unavailable where error.isRetryable && clock.now < end:
                    try await Task.sleep(for: .milliseconds(100))
                // Paused or held, which is reported elsewhere. The tasks that existed when it
                // started are known.
                case .unavailable where !error.isRetryable, .paused, .offline: return
                // This machine works alone, and has looked for its files.
                case .needsSignIn: return
                default: throw error
                }
            }
        }
    }

    fileprivate func show(_ result: ImportResult) {
        guard !wantsJSON else {
            var object: JSONObject = ["schemaVersion": 1]
            for (key, value) in result.members { object[key] = value }
            terminal.print(JSON.object(object).text)
            return
        }
        if result.isTrial {
            for name in result.imported { terminal.print(name.printable) }
        }
        for (name, changes) in result.changed {
            terminal.note("ferry: \(name.printable): changed: \(changes.joined(separator: "; ").printable).")
        }
        for (name, reason) in result.leftOut {
            terminal.note("ferry: \(name.printable): left out: \(reason.printable)")
        }
        terminal.note(result.summary)
    }
}
