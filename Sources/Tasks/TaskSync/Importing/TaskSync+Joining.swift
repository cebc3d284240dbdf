import DocumentClient
import DocumentModel
import SQLite
import SystemIO
import SystemService
import TaskFolder
import TaskModel

/// A task that was created from a new file here.
struct CreatedTask: Sendable {
    /// The server's time up to which this machine knew all changes at the creation.
    let knownTime: Timestamp
    /// The time of the creation in seconds of the local clock.
    let time: Int64
}

/// Unites tasks that two machines created at the same time from files with the same name; see
/// `ConcurrentCreation`.
extension TaskSync {
    /// The time for which a task waits for an unread file with its name.
    private static let unreadTime: Duration = .seconds(10)

    // MARK: Tasks that were created here

    /// Records what this machine knew when it created tasks from new files.
    static func noteCreated(
        _ tasks: [TaskID], at time: Int64, _ transaction: ReplicaTransaction
    ) throws -> CreatedTask {
        let tables = SyncTables(transaction)
        // Changes that have arrived but were not processed were not known when the file was read.
        let isUpToDate = try transaction.changes(for: consumer, limit: 1).isEmpty
        let known = isUpToDate ? try transaction.remoteTime : try tables.seenTime()
        let created = CreatedTask(knownTime: known ?? .distantPast, time: time)
        for task in tasks { try tables.setCreated(task, created) }
        return created
    }

    /// Forgets the tasks that no other machine can have created at the same time any more: all
    /// changes up to their creation have arrived and were processed.
    func forgetCreated() async throws {
        guard !created.isEmpty, lastForgetting.map({ $0 + .seconds(1) < environment.now() }) ?? true else { return }
        lastForgetting = environment.now()
        let tasks = created.keys.filter { catalog[$0]?.isPending != true && !isYoung($0) }
        guard !tasks.isEmpty else { return }
        let settled = try await client.transaction(waitingForDisk: false) { transaction in
            let time = try transaction.remoteTime ?? .distantPast
            let settled = try tasks.filter { task in
                let view = try transaction.task(task)
                return !view.exists || view.createTime.map { $0 <= time } == true
            }
            for task in settled { try SyncTables(transaction).setCreated(task, nil) }
            return settled
        }
        for task in settled { created[task] = nil }
    }

    /// Unites a task that was created here from a file with another task that is about to get a
    /// file with that name.
    ///
    /// - Returns: Whether the file belongs to `other` now.
    func join(_ other: DocumentSnapshot, in directory: TaskPath) async throws -> Bool {
        let task = other.name.task
        guard !created.isEmpty, let path = try rightPath(of: task, in: directory), let entry = index[path],
            let knownTime = created[entry.task]?.knownTime, held[entry.task] == nil, unfilled[entry.task] == nil,
            isPrivate(catalog[task]?.list)
        else { return false }
        let (userID, time, made) = (configuration.userID, configuration.wallClock(), entry.task)
        let joined: FileRow? = try await client.transaction { transaction in
            let tables = SyncTables(transaction)
            let view = try transaction.task(made)
            // The change of a command is still to be written to the file.
            guard var row = try tables.file(made), row.path == path, !FileExport.isBehind(row, view) else { return nil }
            let local = ConcurrentCreation.Local(view: view, bytes: row.bytes, knownTime: knownTime)
            guard
                let common = ConcurrentCreation.commonVersion(
                    local, other, named: path.name, userID: userID, replica: transaction.replica)
            else { return nil }
            if common != row.bytes {
                let before = TaskItem(fields: other.fields(pendingTimes: .previous))
                let after = TaskItem(fields: local.view.fields(pendingTimes: .previous))
                try UndoSteps(transaction).add([UndoStep(.save, task, before: before, after: after)], at: time)
            }
            try transaction.append(.delete(local.view.name))
            try tables.removeFile(made)
            try tables.removeAttachments(of: made)
            try tables.setCreated(made, nil)
            row.task = task
            row.bytes = common
            row.stamp = FileStamp(unknownContentOf: row.stamp)
            try tables.put(row)
            return row
        }
        guard let joined else { return false }
        await endPointless(transfers.current(of: made))
        forgetJoined(made)
        index.set(path, FileIndex.Entry(task: task, stamp: joined.stamp))
        _ = try? folder.setMark(path, to: mark(of: task, at: path), of: entry.stamp)
        if let files = try? path.attachmentsDirectory(), (try? folder.hasDirectory(files)) == true {
            movedAttachmentDirectories.insert(files)
        }
        logger.info("one file was made here and elsewhere: its task joins the first one", ["joined": "\(made)"])
        try await importFiles([path])
        retries.insert(task)
        return true
    }

    /// Whether a task that was created here from a file may be united with the task that owns its
    /// name, which gets a file first. Until then the file keeps its name.
    func isToBeJoined(_ task: TaskID, in list: ListID?) -> Bool {
        guard created[task] != nil, let path = index.path(of: task),
            let owner = names.owner(of: path.name, in: list)
        else { return false }
        return owner != task && index.path(of: owner) == nil && held[owner] == nil
    }

    private func forgetJoined(_ task: TaskID) {
        index.remove(task: task)
        attachments.removeAll(of: task)
        created[task] = nil
        newborns[task] = nil
        retries.remove(task)
        catalog.remove(task: task)
        retries.formUnion(names.set(task, nil).filter { index.path(of: $0) != nil })
    }

    /// Whether no other user may use a list.
    private func isPrivate(_ list: ListID?) -> Bool {
        list.map { hosts[$0] == nil && catalog.sharing[$0] == nil } ?? true
    }

    // MARK: Files that are new

    /// Returns the task to which the name of a new file belongs, if it has no file here yet and the
    /// same contents as the file: another machine created it, and its document arrived before the
    /// file was read.
    func unwrittenTask(
        _ path: TaskPath, _ file: TaskFile, claimed: [ImportedFile]
    ) async throws -> (task: TaskID, row: FileRow)? {
        let list = path.parent.isRoot ? nil : lists.id(path.parent)
        guard path.parent.isRoot || list != nil, let task = names.owner(of: path.name, in: list),
            index.path(of: task) == nil, held[task] == nil, isPrivate(list),
            !claimed.contains(where: { $0.task == task })
        else { return nil }
        let userID = configuration.userID
        let common: [UInt8]? = try await client.reading { transaction in
            let view = try transaction.task(task)
            let fields = view.fields(pendingTimes: .previous)
            guard view.exists, try SyncTables(transaction).file(task) == nil,
                fields["userId"]?.stringValue == userID.rawValue,
                fields[TaskOrigin.creator]?.stringValue != transaction.replica.rawValue
            else { return nil }
            return ConcurrentCreation.commonVersion(file.bytes, fields, named: path.name)
        }
        return common.map { (task, FileRow(task: task, path: path, list: list, stamp: .none, bytes: $0)) }
    }

    /// Whether a task that is to get a file waits until a file is read that may be its own, by its
    /// identifier or its name.
    func awaitsUnreadFile(of task: TaskID, in directory: TaskPath) throws -> Bool {
        guard index.path(of: task) == nil,
            let path = try unidentifiedFile(of: task) ?? unreadFile(of: task, in: directory)
        else { return false }
        let now = environment.now()
        unreadFiles = unreadFiles.filter { $0.value + Self.unreadTime > now || $0.key == path }
        let since = unreadFiles[path, default: now]
        unreadFiles[path] = since
        guard since + Self.unreadTime > now else { return false }
        changes.noteFound(path)
        return true
    }

    /// Returns the file that waits for a task.
    private func unidentifiedFile(of task: TaskID) -> TaskPath? {
        let replacing = replacements.filter { $0.value.task == task }.keys
        return unidentified[task, default: []].union(replacing).min().flatMap {
            (try? folder.stamp($0)) == nil ? nil : $0
        }
    }

    private func unreadFile(of task: TaskID, in directory: TaskPath) throws -> TaskPath? {
        guard let path = try rightPath(of: task, in: directory), index[path] == nil, problems[path.string] == nil,
            let stamp = (try? folder.stamp(path)) ?? nil, stamp.size >= 0,
            folder.taskID(of: path) == nil
        else { return nil }
        return path
    }
}

extension SyncTables {
    private static let created = "created "
    private static let seen = "seen"

    /// Returns the server's time up to which all changes were processed.
    func seenTime() throws -> Timestamp? { try state(Self.seen).flatMap(Int64.init).map(Timestamp.init(microseconds:)) }

    func setSeenTime(_ time: Timestamp) throws { try setState(Self.seen, "\(time.microseconds)") }

    func created() throws -> [TaskID: CreatedTask] {
        var found: [TaskID: CreatedTask] = [:]
        try database.query("SELECT key, value FROM sync_state WHERE key GLOB ?", [.text(Self.created + "*")]) { row in
            let times = row.text(1).split(separator: " ").map { Int64($0) }
            guard times.count == 2, let known = times[0], let time = times[1] else { return }
            found[TaskID(String(row.text(0).dropFirst(Self.created.count)))] = CreatedTask(
                knownTime: Timestamp(microseconds: known), time: time)
        }
        return found
    }

    func setCreated(_ task: TaskID, _ created: CreatedTask?) throws {
        let key = Self.created + task.rawValue
        guard let created else { return try removeState(key) }
        try setState(key, "\(created.knownTime.microseconds) \(created.time)")
    }
}
