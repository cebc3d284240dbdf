import DocumentClient
import DocumentModel
import SQLite
import SystemIO
import SystemService
import TaskFolder
import TaskModel

/// A task whose file was deleted here a moment ago: a new file of the same name continues it.
struct DeletedFile: Sendable {
    let row: FileRow
    let attachments: [AttachmentRow]
    let time: Duration
}

/// A task that was made of a new file here a moment ago: the file may turn out to be that of another task.
struct Newborn: Sendable {
    let time: Duration
}

/// Tasks that go on in files which looked new.
///
/// Programs move a file by a copy and a delete, save it by a rename of another task file over it,
/// or delete it and write it again after more than the settle time. In all of these the user means
/// one task.
extension TaskSync {
    /// How long a new file may turn out to be another task's.
    private static let newbornTime: Duration = .seconds(10)
    /// How long a new file of the name of a deleted one continues that one's task.
    private static let returnTime: Duration = .seconds(300)

    private static let returnLimit = 200

    // MARK: New tasks

    func noteNewborn(_ tasks: [String]) {
        guard !tasks.isEmpty else { return }
        let now = environment.now()
        newborns = newborns.filter { $0.value.time + Self.returnTime > now }
        for task in tasks { newborns[task] = Newborn(time: now) }
    }

    /// Whether a task was made of a new file a moment ago.
    func isYoung(_ task: String) -> Bool {
        newborns[task].map { environment.now() < $0.time + Self.newbornTime } ?? false
    }

    /// Whether a task was made of a new file a moment ago and has nothing beside it, so that its
    /// file can be another task's.
    func isNewborn(_ task: String) -> Bool {
        guard isYoung(task),
            attachments.rows(of: task).isEmpty, held[task] == nil
        else { return false }
        guard let directory = try? index.path(of: task)?.attachmentsDirectory() else { return true }
        return (try? folder.hasDirectory(directory)) == false
    }

    /// Whether a file that takes the place of another task's is the new text of that task: its own
    /// task was made a moment ago, and after the other one. Of two files that were found together,
    /// either may be meant.
    func isNewborn(_ task: String, after older: String) -> Bool {
        guard isNewborn(task), let time = newborns[task]?.time else { return false }
        return newborns[older].map { $0.time < time } ?? true
    }

    /// Whether a task's document says what is still to be written to its file, such as what a
    /// command has changed while syncing is paused.
    func isBehind(_ task: String) async throws -> Bool {
        try await client.reading { transaction in
            let row = try SyncTables(transaction).file(task)
            return try row.map { FileExport.isBehind($0, try transaction.task(task)) } ?? false
        }
    }

    /// Whether no other machine can have a task yet, and its document says what its file does.
    func isUnsent(_ task: String) async throws -> Bool {
        guard try await client.reading({ try $0.task(task).createTime == nil }) else { return false }
        return try await !isBehind(task)
    }

    /// A task that was made of a new file has been the file of another one: it goes without a
    /// trace, and the file stays. What was changed of it elsewhere meanwhile keeps it, as an edit
    /// does against any delete.
    func dissolve(_ task: String) async throws {
        await endPointless(transfers.current(of: task))
        let view = try await client.transaction { transaction in
            let tables = SyncTables(transaction)
            let name = try DocumentName(database: transaction.databaseName, collection: "tasks", id: task)
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
        learn(TaskIndexEntry(view))
        logger.info("a new file belongs to a task that exists already", ["new": "\(task)"])
    }

    // MARK: Copies

    /// Those of tasks whose files are gone that do not go on in a copy which was made just before,
    /// as `cp X Y; rm X` does.
    func withoutCopied(_ tasks: [String]) async throws -> [String] {
        guard !newborns.isEmpty, !tasks.isEmpty else { return tasks }
        // Of thousands of new files few have the size of one that is gone.
        let bySize = Dictionary(grouping: newborns.keys) { index.path(of: $0).flatMap { index[$0] }?.stamp.size ?? -1 }
        var left: [String] = []
        for task in tasks {
            let size = index.path(of: task).flatMap { index[$0] }?.stamp.size ?? -1
            let others = (bySize[size] ?? []).prefix(100).filter { $0 != task && isNewborn($0, after: task) }
            if try await !continues(task, others) { left.append(task) }
        }
        return left
    }

    private func continues(_ task: String, _ others: [String]) async throws -> Bool {
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

    /// The file at a path is that of a task from now on, and is to be read as such.
    func take(_ path: TaskPath, _ stamp: FileStamp, for task: String) {
        _ = try? folder.setIdentifier(path, to: task, of: stamp)
        index.set(path, FileIndex.Entry(task: task, stamp: FileStamp(unknownContentOf: stamp)))
    }

    // MARK: Files that are back

    /// Remembers the files of tasks that are about to be deleted because they are gone.
    func noteDeleted(_ tasks: [String]) async throws {
        let now = environment.now()
        let over = deletedFiles.values.filter { $0.time + Self.returnTime <= now }.map(\.row.task)
        deletedFiles = deletedFiles.filter { $0.value.time + Self.returnTime > now }
        // Nobody makes so many again by hand, and what all of them said is in memory.
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

    /// Takes up, after a restart, what `noteDeleted` and `noteNewborn` knew.
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

    /// What was deleted under this name minutes ago, and is still in the trash: at this path, or with
    /// the same text in another directory where its own is gone, as where its list was renamed, and
    /// renamed back with the files of before.
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
        let isTrashed = try await client.reading { transaction in
            let view = try transaction.task(deleted.row.task)
            return view.exists && TaskIndexEntry(view).claim == nil
        }
        return isTrashed ? deleted : nil
    }
}

extension SyncTables {
    private static let deleted = "deleted-file "

    /// Where the file of a task was that was deleted a short while ago, and when by the local clock.
    struct Deleted {
        let path: TaskPath
        let list: String?
        let time: Int64
    }

    func deleted() throws -> [String: Deleted] {
        var found: [String: Deleted] = [:]
        try database.query("SELECT key, value FROM sync_state WHERE key GLOB ?", [.text(Self.deleted + "*")]) { row in
            let lines = row.text(1).split(separator: "\n", omittingEmptySubsequences: false)
            guard lines.count == 3, let time = Int64(lines[0]), let path = try? TaskPath(String(lines[2])) else {
                return
            }
            found[String(row.text(0).dropFirst(Self.deleted.count))] = Deleted(
                path: path, list: lines[1].isEmpty ? nil : String(lines[1]), time: time)
        }
        return found
    }

    func setDeleted(_ task: String, _ file: Deleted?) throws {
        let key = Self.deleted + task
        guard let file else { return try removeState(key) }
        try setState(key, "\(file.time)\n\(file.list ?? "")\n\(file.path.string)")
    }
}
