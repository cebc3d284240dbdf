import CommandLineTool
import Control
import Glibc
import SystemIO

/// An import, which reads records from a source and adds each as a task unless it exists already.
struct ImportRun {
    private let context: CommandContext
    private(set) var result: ImportResult

    private var service: any ControlService { context.service }

    init(_ context: CommandContext) {
        self.context = context
        result = ImportResult(isTrial: context.arguments.has("dry-run"))
    }

    // MARK: Files

    /// Imports the task files of a directory, byte for byte, with their attachments.
    mutating func importDirectory(_ path: String) async throws {
        let source = try TaskDirectory(path)
        let tasksDirectory = try await service.status().tasksDirectory
        let target = try TaskDirectory(tasksDirectory)
        let content = try source.files()
        result.hidden = content.hidden
        for file in content.tasks {
            do {
                let (record, bytes) = try self.record(of: file, in: source)
                let list = record.change.list ?? ""
                let place = (list.isEmpty ? "" : list + "/") + (record.change.fileName ?? "")
                if let present = try present(bytes, at: place, in: target) {
                    result.alreadyThere.append(file.path)
                    if let task = try? await service.task("\(tasksDirectory)/\(present)").summary {
                        try await attachMissing(file, of: path, to: task)
                    }
                } else {
                    try await importFile(file, record, of: path)
                }
            } catch let problem as RecordProblem {
                result.leftOut.append((file.path, problem.reason))
            } catch let error as SystemError {
                result.leftOut.append((file.path, "\(error.message)."))
            } catch let error as ControlError where !error.endsImport {
                result.leftOut.append((file.path, error.message))
            }
        }
        result.leftOut += content.others.map { ($0.path, $0.reason) }
    }

    private func record(
        of file: TaskDirectory.File, in source: TaskDirectory
    ) throws -> (record: ImportRecord, bytes: [UInt8]) {
        let bytes = try source.read(file.path)
        if let encoding = SourceText.foreignEncoding(bytes) {
            throw RecordProblem("It is \(encoding) text; save it as UTF-8.")
        }
        guard let text = SourceText.text(bytes[...]) else {
            throw RecordProblem("It is not UTF-8 text; save it as UTF-8.")
        }
        let parts = file.stem.split(separator: "/")
        var change = TaskChange(list: chosenList ?? parts.dropLast().joined(separator: "/"))
        change.head = text
        change.fileName = parts.last.map(String.init) ?? file.stem
        let key = "file \(file.path) \(SourceText.fingerprint(bytes))"
        return (ImportRecord(name: file.path, change: change, key: key), bytes)
    }

    private mutating func importFile(
        _ file: TaskDirectory.File, _ record: ImportRecord, of path: String
    ) async throws {
        var change = record.change
        change.importKey = record.key
        change.isTrial = result.isTrial
        let task: TaskSummary
        do { task = try await service.add(change) } catch let error as ControlError where error.code == .alreadyThere {
            result.alreadyThere.append(file.path)
            if let task = error.candidates.first { try await attachMissing(file, of: path, to: task) }
            return
        }
        var changes: [String] = []
        let name = task.path?.split(separator: "/").last.map(String.init)
        if !result.isTrial, let name, name != (change.fileName ?? "") + TaskDirectory.suffix {
            changes.append("its file is called '\(name)' here, because its name is taken or not possible")
        }
        result.take(file.path, changes)
        if !result.isTrial { try await attach(file.attachments, of: path, to: task) }
    }

    /// Attaches the files that an interrupted import has not attached.
    private mutating func attachMissing(
        _ file: TaskDirectory.File, of path: String, to task: TaskSummary
    ) async throws {
        guard !file.attachments.isEmpty else { return }
        let names = Set(try await service.task(task.id).attachments.map(\.name))
        let missing = file.attachments.filter { !names.contains($0.split(separator: "/").last.map(String.init) ?? $0) }
        guard !missing.isEmpty else { return }
        let change = "\(Count(missing.count, "attachment was", "attachments were")) missing"
        result.changed.append((file.path, [result.isTrial ? change : change + ", and attached"]))
        if !result.isTrial { try await attach(missing, of: path, to: task) }
    }

    private mutating func attach(
        _ attachments: [String], of path: String, to task: TaskSummary
    ) async throws {
        let files = attachments.map {
            FileToAttach(path: TaskArgument("\(path)/\($0)").path(in: Self.workingDirectory))
        }
        for group in FileToAttach.groups(of: files) {
            do { _ = try await service.attach(task.id, group) } catch let error as ControlError where !error.endsImport
            {
                result.leftOut += group.map { ($0.path, error.message) }
            }
        }
    }

    /// Returns the file with this name, with or without a number, that has these bytes.
    private func present(_ bytes: [UInt8], at stem: String, in target: TaskDirectory) throws -> String? {
        for number in 1...99 {
            let name = (number == 1 ? stem : "\(stem) \(number)") + TaskDirectory.suffix
            // An error means that no file can have the name.
            guard let present = try? target.readIfPresent(name) else { return nil }
            if present == bytes { return name }
        }
        return nil
    }

    // MARK: Lines

    /// Imports a file with one record per line; `-` is standard input.
    mutating func importLines(_ path: String, _ format: ImportFormat) async throws {
        let bytes =
            try path == "-" ? readStandardInputBytes(limit: 256 << 20) : FileSystem.read(path, limit: 256 << 20)
        if let encoding = SourceText.foreignEncoding(bytes) {
            throw CommandFailure("\(path.printable) is \(encoding) text.", hint: "Save it as UTF-8.")
        }
        let there = try await TasksThere(service)
        var seen: [ArraySlice<UInt8>: Int] = [:]
        let lines = SourceText.lines(SourceText.content(bytes), carriageReturnsEnd: format == .todo)
        for (index, line) in lines.enumerated() where !line.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) {
            let name = "line \(index + 1)"
            seen[line, default: 0] += 1
            do {
                var record = try format == .todo ? Self.todoRecord(line) : TaskRecord.record(line)
                // Two equal lines are two tasks, and get the same keys when they are imported
                // again.
                if record.key.isEmpty {
                    record.key = "\(format.rawValue) \(seen[line] ?? 1)\n\(String(decoding: line, as: UTF8.self))"
                }
                if let list = chosenList { record.change.list = list }
                try await importRecord(record, there)
            } catch let problem as RecordProblem {
                result.leftOut.append((name, problem.reason))
            } catch let error as ControlError where !error.endsImport {
                result.leftOut.append((name, error.message))
            }
        }
    }

    private static func todoRecord(_ line: ArraySlice<UInt8>) throws(RecordProblem) -> ImportRecord {
        guard let text = SourceText.text(line) else { throw RecordProblem("It is not UTF-8 text.") }
        guard let (change, changes) = TodoLine.record(text) else { throw RecordProblem("It has no words.") }
        return ImportRecord(name: change.title ?? text, change: change, changes: changes, key: "")
    }

    private mutating func importRecord(_ record: ImportRecord, _ there: TasksThere) async throws {
        if let id = record.id, there.trashed.contains(id) {
            throw RecordProblem("It is in the trash; 'ferry restore \(id)' brings it back.")
        }
        var isKnown = record.id.map { there.ids.contains($0) } ?? false
        if !isKnown { isKnown = try await there.has(record.change, service) }
        guard !isKnown else { return result.alreadyThere.append(record.name) }
        var change = record.change
        change.importKey = record.key
        change.isTrial = result.isTrial
        do { _ = try await service.add(change) } catch let error as ControlError where error.code == .alreadyThere {
            return result.alreadyThere.append(record.name)
        }
        result.take(record.name, record.changes)
    }

    private static var workingDirectory: String {
        guard let path = getcwd(nil, 0) else { return "/" }
        defer { free(path) }
        return String(cString: path)
    }

    private var chosenList: String? { context.arguments.value("list").map { $0.lowercased() == "inbox" ? "" : $0 } }
}

extension ControlError {
    /// Whether the next record would fail with the same error.
    fileprivate var endsImport: Bool { code == .notRunning || code == .needsSignIn }
}

/// The tasks that existed before an import.
private struct TasksThere {
    let ids: Set<String>
    let trashed: Set<String>
    private let byTitle: [String: [TaskSummary]]

    init(_ service: any ControlService) async throws {
        let tasks = try await service.tasks(TaskFilter()).summaries()
        ids = Set(tasks.map(\.id))
        trashed = Set(try await service.trash().tasks.map(\.taskID))
        byTitle = Dictionary(grouping: tasks, by: \.title)
    }

    /// Whether an existing task has the same content as a new one would have.
    func has(_ change: TaskChange, _ service: any ControlService) async throws -> Bool {
        let tags = Set((change.tags ?? []) + change.addTags)
        for task in byTitle[change.title ?? ""] ?? [] {
            guard task.list.lowercased() == (change.list ?? "").lowercased(), Set(task.tags) == tags,
                task.isCompleted == (change.isCompleted ?? false), task.priority == (change.priority ?? .none),
                (task.due ?? "") == (change.due ?? ""), change.fields.isEmpty
            else { continue }
            let detail = try await service.task(task.id)
            let notes = change.notes ?? ""
            if detail.fields == change.texts, [notes, notes + "\n"].contains(detail.notes) { return true }
        }
        return false
    }
}
