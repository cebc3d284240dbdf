import CommandLineTool
import Control
import JSON
import SystemIO

extension Command {
    static let `import` = Command.daemon(
        "import", group: "Care", summary: "takes tasks over from a directory of Markdown files, NDJSON or todo.txt",
        discussion: """
            A directory's files are copied as they are, subdirectories become lists, X.files beside X.md its attachments. NDJSON is
            what 'ferry export' writes. What is there already is left out, so that an import can be repeated.

                ferry import ~/vault/TaskNotes --list Notes --dry-run
            """,
        arguments: [
            Argument("PATH", summary: "a directory or a file; - is NDJSON on standard input", completion: .files)
        ],
        options: [
            Option(
                "list", short: "l", value: "NAME", summary: "put everything into this list",
                completion: .program("lists")),
            Option(
                "format", value: "FORMAT", summary: "markdown, ndjson or todo.txt; by the path unless told",
                completion: .words(ImportFormat.allCases.map(\.rawValue))),
            Option("dry-run", short: "n", summary: "only tell what would be done"), .json,
        ]
    ) { context in
        let path = context.arguments.argument("PATH") ?? "-"
        var result = ImportResult(isTrial: context.arguments.has("dry-run"))
        do {
            switch try context.importFormat(path) {
            case .markdown: try await context.importMarkdown(path, &result)
            case .ndjson: try await context.importLines(path, &result, Self.task(ofLine:))
            case .todo: try await context.importLines(path, &result) { line in TodoLine.task(line).map { (nil, $0) } }
            }
        } catch let error as SystemError {
            throw CommandFailure("\(error.message).", status: error.code == .notFound ? .notFound : .failure)
        }
        context.show(result)
        return result.failed.isEmpty ? .success : result.imported.isEmpty ? .failure : .partlyDone
    }

    /// A task as `ferry export` and `ferry list --ndjson` write it, and its id.
    @Sendable private static func task(ofLine line: String) throws -> (String?, TaskChange)? {
        let json: JSON
        do { json = try JSON(parsing: Array(line.utf8)) } catch { throw CommandFailure("It is \(error.description).") }
        let summary = try TaskSummary(json: json["task"] ?? json)
        var fields: [String: String] = [:]
        for (key, value) in json["fields"]?.objectValue ?? [:] { fields[key] = value.stringValue ?? value.text }
        return (
            summary.id,
            TaskChange(
                title: summary.title, list: summary.list, isCompleted: summary.isCompleted ? true : nil,
                priority: summary.priority == .none ? nil : summary.priority, due: summary.due, addTags: summary.tags,
                notes: json["notes"]?.stringValue, fields: fields)
        )
    }
}

enum ImportFormat: String, CaseIterable {
    case markdown
    case ndjson
    case todo = "todo.txt"
}

struct ImportResult {
    let isTrial: Bool
    /// Titles or paths.
    var imported: [String] = []
    var alreadyThere: [String] = []
    var failed: [(name: String, reason: String)] = []
    /// Files that are no tasks.
    var others = 0
}

extension CommandContext {
    fileprivate func importFormat(_ path: String) throws -> ImportFormat {
        if let name = arguments.value("format") {
            guard let format = ImportFormat(rawValue: name) else {
                throw UsageError("There is no format '\(name)': markdown, ndjson or todo.txt.", path: ["import"])
            }
            return format
        }
        if path == "-" { return .ndjson }
        if try FileSystem.status(path).kind == .directory { return .markdown }
        if path.hasSuffix(".txt") { return .todo }
        if [".ndjson", ".jsonl", ".json"].contains(where: path.hasSuffix) { return .ndjson }
        throw UsageError("The format of \(path) is not known; say --format.", path: ["import"])
    }

    // MARK: Files

    fileprivate func importMarkdown(_ path: String, _ result: inout ImportResult) async throws {
        let source = try TaskDirectory(path)
        let target = try TaskDirectory(try await service.status().tasksDirectory)
        let (files, others) = try source.files()
        result.others = others
        for file in files {
            let list = arguments.value("list").map { $0.lowercased() == "inbox" ? "" : $0 }
            let name = file.stem.split(separator: "/").last.map(String.init) ?? file.stem
            let stem = list.map { $0.isEmpty ? name : "\($0)/\(name)" } ?? file.stem
            do throws(SystemError) {
                let bytes = try source.read(file.path)
                guard let free = try Self.freeStem(stem, bytes, in: target) else {
                    result.alreadyThere.append(file.path)
                    continue
                }
                if !result.isTrial {
                    for attachment in file.attachments {
                        let name = attachment.split(separator: "/").last ?? ""
                        try target.copy(attachment, of: source, to: "\(free).files/\(name)")
                    }
                    try target.write(free + TaskDirectory.suffix, bytes)
                }
                result.imported.append(free + TaskDirectory.suffix)
            } catch {
                result.failed.append((file.path, "\(error.message)."))
            }
        }
        if !result.isTrial, !result.imported.isEmpty { _ = try await service.sync(wait: false, timeout: .zero) }
    }

    /// A name that no file has; nil where the file is there already, with these bytes.
    private static func freeStem(
        _ stem: String, _ bytes: [UInt8], in target: TaskDirectory
    ) throws(SystemError) -> String? {
        for number in 1...999 {
            let candidate = number == 1 ? stem : "\(stem) \(number)"
            guard let present = try target.readIfPresent(candidate + TaskDirectory.suffix) else {
                if try !target.has(candidate + ".files") { return candidate }
                continue
            }
            if present == bytes { return nil }
        }
        throw SystemError(.exists, operation: "find a free name for", path: stem)
    }

    // MARK: Lines

    fileprivate func importLines(
        _ path: String, _ result: inout ImportResult, _ task: (String) throws -> (id: String?, change: TaskChange)?
    ) async throws {
        let text = try path == "-" ? readStandardInput(limit: 256 << 20) : readText(path, limit: 256 << 20)
        let known = Set(try await service.tasks(TaskFilter()).summaries().map(\.id))
        for (index, line) in text.split(whereSeparator: \.isNewline).enumerated() {
            let name = "line \(index + 1)"
            do {
                guard let task = try task(String(line)) else { continue }
                let id = task.id
                var change = task.change
                let title = change.title ?? name
                if let id, known.contains(id) {
                    result.alreadyThere.append(title)
                    continue
                }
                if let list = arguments.value("list") { change.list = list.lowercased() == "inbox" ? "" : list }
                if !result.isTrial { _ = try await service.add(change) }
                result.imported.append(title)
            } catch let error as ControlError where error.code != .notRunning && error.code != .needsSignIn {
                result.failed.append((name, error.message))
            } catch let error as CommandFailure {
                result.failed.append((name, error.message))
            }
        }
    }

    fileprivate func show(_ result: ImportResult) {
        guard !wantsJSON else {
            print(
                document: ("imported", .array(result.imported.map { .string($0) })),
                ("alreadyThere", .array(result.alreadyThere.map { .string($0) })),
                ("failed", .array(result.failed.map { ["name": .string($0.name), "reason": .string($0.reason)] })),
                ("dryRun", .boolean(result.isTrial)))
            return
        }
        if result.isTrial {
            for name in result.imported { terminal.print(name.printable) }
        }
        for (name, reason) in result.failed { terminal.note("ferry: \(name.printable): \(reason.printable)") }
        var parts = ["\(Count(result.imported.count, "task")) \(result.isTrial ? "would be imported" : "imported")"]
        if !result.alreadyThere.isEmpty { parts.append("\(result.alreadyThere.count) there already") }
        if !result.failed.isEmpty { parts.append("\(result.failed.count) failed") }
        if result.others > 0 { parts.append("\(Count(result.others, "other file")) left out") }
        terminal.note(parts.joined(separator: ", ") + ".")
    }
}
