import CommandLineTool
import Control
import Glibc
import SystemIO

/// An import, which reads records from a source and adds each as a task unless it exists already.
struct ImportRun {
    private let context: CommandContext
    private(set) var result: ImportResult
    private var batch = ImportBatch()
    /// The directory of the files that are imported.
    private var sourcePath = ""

    private var service: any ControlService { context.service }

    init(_ context: CommandContext) {
        self.context = context
        result = ImportResult(isTrial: context.arguments.has("dry-run"))
    }

    // MARK: Files

    /// Imports the task files of a directory, byte for byte, with their attachments.
    mutating func importDirectory(_ path: String) async throws {
        let source = try TaskDirectory(path)
        try await importFiles(try source.files(), of: path, source)
    }

    /// Imports one task file, byte for byte, with its attachments.
    mutating func importFile(_ path: String) async throws {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        let name = parts.last.map(String.init) ?? path
        let directory = parts.count == 1 ? "." : parts.dropLast().joined(separator: "/")
        let source = try TaskDirectory(directory.isEmpty ? "/" : directory)
        try await importFiles(TaskDirectory.Content(tasks: [try source.file(name)]), of: directory, source)
    }

    private mutating func importFiles(
        _ content: TaskDirectory.Content, of path: String, _ source: TaskDirectory
    ) async throws {
        let tasksDirectory = try await service.status().tasksDirectory
        let target = try TaskDirectory(tasksDirectory)
        result.hidden = content.hidden
        sourcePath = path
        // Paths of files in the batch, below the tasks directory.
        var places: Set<String> = []
        for file in content.tasks {
            do {
                let (record, bytes) = try self.record(of: file, in: source)
                let list = record.change.list ?? ""
                let place = (list.isEmpty ? "" : list + "/") + (record.change.fileName ?? "")
                // With '--list', files of two directories have one path, and may be equal.
                if !places.insert(place.lowercased()).inserted {
                    try await addBatch()
                    places = [place.lowercased()]
                }
                let finding: ImportBatch.Finding
                if let present = try present(bytes, at: place, in: target) {
                    finding = .alreadyThere(try? await service.task("\(tasksDirectory)/\(present)").summary)
                } else {
                    finding = .new(newTask(record))
                }
                try await take(ImportBatch.Entry(name: file.path, finding: finding, file: file))
            } catch let problem as RecordProblem {
                try await take(ImportBatch.Entry(name: file.path, finding: .leftOut(problem.reason)))
            } catch let error as SystemError {
                try await take(ImportBatch.Entry(name: file.path, finding: .leftOut("\(error.message).")))
            }
        }
        try await addBatch()
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

    // MARK: Batches

    private func newTask(_ record: ImportRecord) -> TaskChange {
        var change = record.change
        change.importKey = record.key
        change.isTrial = result.isTrial
        return change
    }

    /// Puts a record into the batch, and first adds the tasks of a batch that is full.
    private mutating func take(_ entry: ImportBatch.Entry) async throws {
        if batch.append(entry) { return }
        try await addBatch()
        _ = batch.append(entry)
    }

    /// Adds the tasks of the batch, and notes what became of each of its records.
    private mutating func addBatch() async throws {
        let batch = batch
        self.batch = ImportBatch()
        var results: [AddResult] = []
        if !batch.changes.isEmpty {
            do { results = try await service.add(batch.changes) } catch let error as ControlError
                where !error.endsImport
            {
                results = batch.changes.map { _ in .refused(error) }
            }
        }
        var next = results.makeIterator()
        for entry in batch.entries {
            do {
                switch entry.finding {
                case .leftOut(let reason): result.leftOut.append((entry.name, reason))
                case .alreadyThere(let task):
                    result.alreadyThere.append(entry.name)
                    if let task, let file = entry.file { try await attachMissing(file, to: task) }
                case .new(let change):
                    guard let added = next.next() else { continue }
                    try await note(added, of: change, entry)
                }
            } catch let error as ControlError where !error.endsImport {
                result.leftOut.append((entry.name, error.message))
            }
        }
    }

    private mutating func note(
        _ added: AddResult, of change: TaskChange, _ entry: ImportBatch.Entry
    ) async throws {
        switch added {
        case .refused(let error) where error.code == .alreadyThere:
            result.alreadyThere.append(entry.name)
            if let task = error.candidates.first, let file = entry.file { try await attachMissing(file, to: task) }
        case .refused(let error): throw error
        case .added(let task):
            var changes = entry.changes
            let name = task.path?.split(separator: "/").last.map(String.init)
            if !result.isTrial, let name, let wanted = change.fileName, name != wanted + TaskDirectory.suffix {
                changes.append("its file is called '\(name)' here, because its name is taken or not possible")
            }
            result.take(entry.name, changes)
            if !result.isTrial, let file = entry.file { try await attach(file.attachments, to: task) }
        }
    }

    /// Attaches the files that an interrupted import has not attached.
    private mutating func attachMissing(_ file: TaskDirectory.File, to task: TaskSummary) async throws {
        guard !file.attachments.isEmpty else { return }
        let names = Set(try await service.task(task.id).attachments.map(\.name))
        let missing = file.attachments.filter { !names.contains($0.split(separator: "/").last.map(String.init) ?? $0) }
        guard !missing.isEmpty else { return }
        let change = "\(Count(missing.count, "attachment was", "attachments were")) missing"
        result.changed.append((file.path, [result.isTrial ? change : change + ", and attached"]))
        if !result.isTrial { try await attach(missing, to: task) }
    }

    private mutating func attach(_ attachments: [String], to task: TaskSummary) async throws {
        let files = attachments.map {
            FileToAttach(path: TaskArgument("\(sourcePath)/\($0)").path(in: Self.workingDirectory))
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

    // MARK: Records

    /// Imports a file with many records; `-` is standard input.
    mutating func importRecords(_ path: String, _ format: ImportFormat) async throws {
        let bytes =
            try path == "-" ? readStandardInputBytes(limit: 256 << 20) : FileSystem.read(path, limit: 256 << 20)
        if let encoding = SourceText.foreignEncoding(bytes) {
            throw CommandFailure("\(path.printable) is \(encoding) text.", hint: "Save it as UTF-8.")
        }
        let content = SourceText.content(bytes)
        let found: [FoundRecord]
        switch format {
        case .markdown: return
        case .todo, .ndjson, .obsidian: found = lines(content, format)
        case .taskwarrior: found = TaskwarriorFile(Array(content)).records
        case .csv, .ics:
            guard let text = SourceText.text(content) else {
                throw CommandFailure("\(path.printable) is not UTF-8 text.", hint: "Save it as UTF-8.")
            }
            found = format == .csv ? CSVFile(text).records : CalendarFile(text).records
        }
        var seen: [String: Int] = [:]
        var ids: Set<String> = []
        let records = found.map { found -> Result<ImportRecord, RecordProblem> in
            seen[found.source, default: 0] += 1
            return found.record.flatMap { record in
                var record = record
                // Two equal records are two tasks, and get the same keys when they are imported
                // again.
                if record.key.isEmpty {
                    record.key = "\(format.rawValue) \(seen[found.source] ?? 1)\n\(found.source)"
                } else if !ids.insert(record.key).inserted {
                    return .failure(RecordProblem("An earlier one has the same id."))
                }
                if let list = chosenList { record.change.list = list }
                return .success(record)
            }
        }
        let there = try await TasksThere(service)
        let known = try await importedBefore(records.compactMap { try? $0.get() }.filter(there.mayHave))
        for (found, record) in zip(found, records) {
            do {
                let record = try record.get()
                let finding = try await finding(record, there, known)
                try await take(ImportBatch.Entry(name: record.name, finding: finding, changes: record.changes))
            } catch let problem as RecordProblem {
                try await take(ImportBatch.Entry(name: found.name, finding: .leftOut(problem.reason)))
            }
        }
        try await addBatch()
    }

    /// Returns the keys of those records that were imported before, with one call for many of them.
    private func importedBefore(_ records: [ImportRecord]) async throws -> Set<String> {
        var known: Set<String> = []
        var batch = ImportBatch()
        var rest = records[...]
        while let record = rest.first {
            var change = newTask(record)
            change.isTrial = true
            if batch.append(ImportBatch.Entry(name: record.key, finding: .new(change))) {
                rest.removeFirst()
                if !rest.isEmpty { continue }
            }
            do {
                for (entry, result) in zip(batch.entries, try await service.add(batch.changes)) {
                    if case .refused(let error) = result, error.code == .alreadyThere { known.insert(entry.name) }
                }
            } catch let error as ControlError where !error.endsImport {
                // Each record is reported when it is added.
            }
            batch = ImportBatch()
        }
        return known
    }

    /// Reads one record a line.
    private mutating func lines(_ content: ArraySlice<UInt8>, _ format: ImportFormat) -> [FoundRecord] {
        var found: [FoundRecord] = []
        let lines = SourceText.lines(content, carriageReturnsEnd: format == .todo)
        for (index, line) in lines.enumerated() where !line.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) {
            let source = String(decoding: line, as: UTF8.self)
            do throws(RecordProblem) {
                guard let record = try Self.record(line, format) else {
                    result.otherLines += 1
                    continue
                }
                found.append(FoundRecord("line \(index + 1)", .success(record), source: source))
            } catch {
                found.append(FoundRecord("line \(index + 1)", .failure(error), source: source))
            }
        }
        return found
    }

    /// Reads a line; nil for one that is no task in a text that also has others.
    private static func record(
        _ line: ArraySlice<UInt8>, _ format: ImportFormat
    ) throws(RecordProblem) -> ImportRecord? {
        if format == .ndjson { return try TaskRecord.record(line) }
        guard let text = SourceText.text(line) else { throw RecordProblem("It is not UTF-8 text.") }
        if format == .obsidian { return try ObsidianLine.record(text) }
        guard let record = TodoLine.record(text) else { throw RecordProblem("It has no words.") }
        return record
    }

    private func finding(
        _ record: ImportRecord, _ there: TasksThere, _ known: Set<String>
    ) async throws -> ImportBatch.Finding {
        if let id = record.id, there.trashed.contains(id) {
            return .leftOut("It is in the trash; 'ferry restore \(id)' brings it back.")
        }
        if let id = record.id, there.ids.contains(id) { return .alreadyThere(nil) }
        if known.contains(record.key) { return .alreadyThere(nil) }
        do {
            return try await there.has(record.change, service) ? .alreadyThere(nil) : .new(newTask(record))
        } catch let error as ControlError where !error.endsImport {
            return .leftOut(error.message)
        }
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

    /// Whether there is a task with the record's title.
    func mayHave(_ record: ImportRecord) -> Bool { byTitle[record.change.title ?? ""] != nil }

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
