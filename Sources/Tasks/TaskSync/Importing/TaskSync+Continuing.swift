import DocumentClient
import DocumentModel
import SQLite
import SystemIO
import SystemService
import TaskFolder
import TaskModel

/// The file of a task that was recently deleted here. A new file of the same name continues the
/// task.
struct DeletedFile: Sendable {
    let row: FileRow
    let attachments: [AttachmentRow]
    let time: Duration
}

/// A task that was recently created from a new file here. The file may turn out to belong to
/// another task.
struct Newborn: Sendable {
    let time: Duration
}

/// Lets tasks continue in files that look new.
///
/// Programs move a file by copying and deleting it, save it by renaming another task file over it,
/// or delete it and write it again after more than the debounce time. In each case the user means
/// one task.
extension TaskSync {
    /// The time for which a new file may turn out to belong to another task.
    private static let newbornTime: Duration = .seconds(10)
    /// The time for which a new file with the name of a deleted one continues its task.
    private static let returnTime: Duration = .seconds(300)

    private static let returnLimit = 200

    // MARK: New tasks

    func noteNewborn(_ tasks: [TaskID]) {
        guard !tasks.isEmpty else { return }
        let now = environment.now()
        newborns = newborns.filter { $0.value.time + Self.returnTime > now }
        for task in tasks { newborns[task] = Newborn(time: now) }
    }

    /// Whether a task was recently created from a new file.
    func isYoung(_ task: TaskID) -> Bool {
        newborns[task].map { environment.now() < $0.time + Self.newbornTime } ?? false
    }

    /// Whether a task was recently created from a new file and has no attachments, so that the file
    /// may belong to another task.
    func isNewborn(_ task: TaskID) -> Bool {
        guard isYoung(task),
            attachments.rows(of: task).isEmpty, held[task] == nil
        else { return false }
        guard let directory = try? index.path(of: task)?.attachmentsDirectory() else { return true }
        return (try? folder.hasDirectory(directory)) == false
    }

    /// Whether a file that replaces another task's file is the new text of that task: its own task
    /// was created recently, and after the other one. If both files were found together, either may
    /// be the older one.
    func isNewborn(_ task: TaskID, after older: TaskID) -> Bool {
        guard isNewborn(task), let time = newborns[task]?.time else { return false }
        return newborns[older].map { $0.time < time } ?? true
    }

    /// Whether a task's document has changes that are still to be written to its file, such as
    /// those of a command while syncing is paused.
    func isBehind(_ task: TaskID) async throws -> Bool {
        try await client.reading { transaction in
            let row = try SyncTables(transaction).file(task)
            return try row.map { FileExport.isBehind($0, try transaction.task(task)) } ?? false
        }
    }

    /// Whether no other machine can know a task yet, and its document agrees with its file.
    func isUnsent(_ task: TaskID) async throws -> Bool {
        guard try await client.reading({ try $0.task(task).createTime == nil }) else { return false }
        return try await !isBehind(task)
    }

    /// Removes a task that was created from a new file, because the file belongs to another task.
    /// The file stays. If the task was changed on another machine in the meantime, that change
    /// keeps it, as any edit does against a delete.
    func dissolve(_ task: TaskID) async throws {
        await endPointless(transfers.current(of: task))
        let view = try await client.transaction { transaction in
            let tables = SyncTables(transaction)
            let name = try DocumentName(task: task, in: transaction.databaseName)
            if try transaction.document(name).exists { try transaction.append(.delete(name)) }
            try tables.removeFile(task)
            try tables.removeAttachments(of: task)
            try tables.setCreated(task, nil)
            return try transaction.document(name)
        }
        index.remove(task: task)
        attachments.removeAll(of: task)
        newborns[task] = nil
        created[task] = nil
        retries.remove(task)
        learn(TaskIndexEntry(view, in: configuration.reading))
        logger.info("a new file belongs to a task that exists already", ["new": "\(task)"])
    }

    // MARK: Copies

    /// Returns those of the tasks whose files are gone that do not continue in a copy which was
    /// created just before, as by `cp X Y; rm X`.
    func withoutCopied(_ tasks: [TaskID]) async throws -> [TaskID] {
        guard !newborns.isEmpty, !tasks.isEmpty else { return tasks }
        // Of thousands of new files, few have the size of a file that is gone.
        let bySize = Dictionary(grouping: newborns.keys) { index.path(of: $0).flatMap { index[$0] }?.stamp.size ?? -1 }
        var left: [TaskID] = []
        for task in tasks {
            let size = index.path(of: task).flatMap { index[$0] }?.stamp.size ?? -1
            let others = (bySize[size] ?? []).prefix(100).filter { $0 != task && isNewborn($0, after: task) }
            if try await !continues(task, others) { left.append(task) }
        }
        return left
    }

    private func continues(_ task: TaskID, _ others: [TaskID]) async throws -> Bool {
        guard let old = index.path(of: task), !others.isEmpty else { return false }
        let copies = try await client.reading { transaction in
            let tables = SyncTables(transaction)
            guard let row = try tables.file(task), !row.bytes.isEmpty else { return [FileRow]() }
            return try others.compactMap { try tables.file($0) }.filter { copy in
                try copy.bytes == row.bytes && !FileExport.isBehind(copy, transaction.task(copy.task))
            }
        }
        guard copies.count == 1, let copy = copies.first, index.path(of: copy.task) == copy.path,
            let stamp = try? folder.stamp(copy.path), stamp.hasContent(of: copy.stamp)
        else { return false }
        try await dissolve(copy.task)
        take(copy.path, stamp, for: task)
        movedFrom[copy.path] = old
        moveAttachments(from: old, to: copy.path)
        try await importFiles([copy.path])
        return true
    }

    /// Assigns the file at a path to a task, and lets it be read.
    func take(_ path: TaskPath, _ stamp: FileStamp, for task: TaskID) {
        _ = try? folder.setMark(path, to: mark(of: task, at: path), of: stamp)
        index.set(path, FileIndex.Entry(task: task, stamp: FileStamp(unknownContentOf: stamp)))
    }

    // MARK: Files that are back

    /// Remembers the files of tasks that are about to be deleted because their files are gone.
    func noteDeleted(_ tasks: [TaskID]) async throws {
        let now = environment.now()
        let over = deletedFiles.values.filter { $0.time + Self.returnTime <= now }.map(\.row.task)
        deletedFiles = deletedFiles.filter { $0.value.time + Self.returnTime > now }
        // A user does not recreate more files by hand, and the contents of all of them are in
        // memory.
        let rows = try await client.reading { [tasks = tasks.prefix(Self.returnLimit)] transaction in
            try tasks.compactMap { try SyncTables(transaction).file($0) }
        }
        for var row in rows {
            row.path = index.path(of: row.task) ?? row.path
            let attached = Array(attachments.rows(of: row.task).values)
            deletedFiles[row.path] = DeletedFile(row: row, attachments: attached, time: now)
        }
        let (known, time) = (deletedFiles, configuration.wallClock())
        try await client.transaction { transaction in
            let tables = SyncTables(transaction)
            for task in over { try tables.setDeleted(task, nil) }
            for (path, file) in known where file.time == now {
                try tables.setDeleted(file.row.task, SyncTables.Deleted(path: path, list: file.row.list, time: time))
            }
        }
    }

    /// Loads what `noteDeleted` and `noteNewborn` recorded before a restart.
    func loadRecentFiles() async throws {
        let (now, time) = (environment.now(), configuration.wallClock())
        @Sendable func age(since start: Int64) -> Duration? {
            let (age, overflow) = time.subtractingReportingOverflow(start)
            return overflow || age < 0 || age > Self.returnTime.components.seconds ? nil : .seconds(age)
        }
        let deleted = try await client.transaction { transaction -> [(DeletedFile, TaskPath)] in
            let tables = SyncTables(transaction)
            return try tables.deleted().compactMap { task, entry in
                guard let age = age(since: entry.time) else {
                    try tables.setDeleted(task, nil)
                    return nil
                }
                let fields = try transaction.task(task).fields(pendingTimes: .previous)
                let item = TaskItem(withoutAttachments: fields)
                let file = try? TaskLayout.file(for: item, fields, named: entry.path.name, instead: nil)
                guard let file else { return nil }
                let row = FileRow(
                    task: task, path: entry.path, list: entry.list, stamp: FileStamp.none, bytes: file.bytes)
                return (DeletedFile(row: row, attachments: [], time: now - age), entry.path)
            }
        }
        for (file, path) in deleted { deletedFiles[path] = file }
        for (task, made) in created {
            if let age = age(since: made.time), age < Self.newbornTime { newborns[task] = Newborn(time: now - age) }
        }
    }

    /// Returns the file that was deleted minutes ago and that a new file continues, if its task is
    /// still in the trash. Either it had this path, or it had the same text in another directory
    /// that is gone, as when a list was renamed, and renamed back with its former files.
    func deletedFile(_ path: TaskPath, _ text: [UInt8], claimed: [ImportedFile]) async throws -> DeletedFile? {
        func isFree(_ deleted: DeletedFile) -> Bool {
            environment.now() < deleted.time + Self.returnTime && index.path(of: deleted.row.task) == nil
                && !claimed.contains(where: { $0.task == deleted.row.task })
        }
        let namesakes = deletedFiles.filter { former, file in
            former.name.utf8.elementsEqual(path.name.utf8) && file.row.bytes == text && isFree(file)
                && folder.isAbsent(former.parent)
        }
        let same = text.isEmpty || namesakes.count != 1 ? nil : namesakes.first?.value
        guard let deleted = deletedFiles[path].flatMap({ isFree($0) ? $0 : nil }) ?? same else { return nil }
        let isTrashed = try await client.reading { [reading = configuration.reading] transaction in
            let view = try transaction.task(deleted.row.task)
            return view.exists && TaskIndexEntry(view, in: reading).request == nil
        }
        return isTrashed ? deleted : nil
    }
}

extension SyncTables {
    private static let deleted = "deleted-file "

    /// The former path of a task's file that was recently deleted, and the time of that by the
    /// local clock.
    struct Deleted {
        let path: TaskPath
        let list: ListID?
        let time: Int64
    }

    func deleted() throws -> [TaskID: Deleted] {
        var found: [TaskID: Deleted] = [:]
        try database.query("SELECT key, value FROM sync_state WHERE key GLOB ?", [.text(Self.deleted + "*")]) { row in
            let lines = row.text(1).split(separator: "\n", omittingEmptySubsequences: false)
            guard lines.count == 3, let time = Int64(lines[0]), let path = try? TaskPath(String(lines[2])) else {
                return
            }
            found[TaskID(String(row.text(0).dropFirst(Self.deleted.count)))] = Deleted(
                path: path, list: lines[1].isEmpty ? nil : ListID(String(lines[1])), time: time)
        }
        return found
    }

    func setDeleted(_ task: TaskID, _ file: Deleted?) throws {
        let key = Self.deleted + task.rawValue
        guard let file else { return try removeState(key) }
        try setState(key, "\(file.time)\n\(file.list?.rawValue ?? "")\n\(file.path.string)")
    }
}
