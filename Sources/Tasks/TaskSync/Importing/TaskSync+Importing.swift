import DocumentClient
import DocumentModel
import SystemService
import TaskFolder
import TaskModel

/// Turns changes of files into changes of documents.
extension TaskSync {
    /// A task file as it was read, with the task that it belongs to.
    struct ImportedFile: Sendable {
        let path: TaskPath
        let stamp: FileStamp
        let file: TaskFile
        let task: TaskID
        let isNew: Bool
        /// The former path, if the file has moved.
        var source: TaskPath?
        /// The path of the file whose attachments have to follow it.
        var attachmentSource: TaskPath?
        /// The task's file before it was deleted, if this file continues it.
        var deleted: DeletedFile?
        /// The last common version of the file and of a task without a file, if the file belongs to
        /// that task.
        var joined: FileRow?
    }

    /// Reads task files and appends the user's changes to the journal, in one transaction.
    ///
    /// - Parameters:
    ///   - settled: The stamps of the files when they were debounced. A file that has become empty
    ///     since is read later: editors truncate before they write.
    ///   - isScan: Whether a scan has found the files.
    ///   - following: The number of further files that a scan has found and that are still to be
    ///     read.
    ///   - sendsReverts: Whether files with older versions count as edits, regardless of their
    ///     number.
    func importFiles(
        _ paths: [TaskPath], settled: [TaskPath: FileStamp] = [:], isScan: Bool = false, following: Int = 0,
        sendsReverts: Bool = false
    ) async throws {
        if !unfinishedMoves.isEmpty { try await finishMoves() }
        var imported: [ImportedFile] = []
        var seen = Set<TaskPath>()
        var replaced = Set<TaskID>()
        for path in inOrderOfIdentity(paths) where seen.insert(path).inserted {
            if let file = try await read(path, settled: settled[path], claimed: imported, &replaced) {
                imported.append(file)
            }
        }
        let earlier = try await readReplaced(&replaced, &imported, &seen)
        if !sendsReverts {
            imported = try await withoutHeldReverts(imported, following: following + changes.pendingCount)
        }
        guard !imported.isEmpty else { return }
        if isScan { changes.noteRead(imported.map(\.path)) }
        // If not all directories are watched, the replaced files may have moved to others. A scan
        // looks for them first.
        if !replaced.isEmpty, !isScan, !folder.isFullyWatched {
            replacements = earlier
            return changes.askForScan()
        }
        let gone = postponeReplacements(by: &imported, of: replaced, earlier)
        for task in gone { try await forgetReplaced(task) }
        guard !imported.isEmpty else { return }
        // The attachments of a task that had this path before are out of the way now.
        moveAttachments(of: imported)
        // After a power cut this disk must still have what other machines were told.
        let renamed = folder.synchronize(imported.map(\.path) + imported.compactMap(\.source))
        // A file that was just renamed is read under its new name. If attachments moved here with
        // it, that is recorded first.
        if imported.contains(where: { renamed.contains($0.path) && $0.attachmentSource == nil }) {
            changes.askForScan()
            imported.removeAll { renamed.contains($0.path) && $0.attachmentSource == nil }
            guard !imported.isEmpty else { return }
        }
        var listIDs: [TaskPath: ListID?] = [:]
        for file in imported where listIDs[file.path.parent] == nil {
            listIDs[file.path.parent] = try await list(at: file.path.parent)
        }
        let (files, directories, userID, hosts) = (imported, listIDs, configuration.userID, hosts)
        let (environment, remembered, unfinished) = (environment, rememberedRetries, unfinishedWrites)
        let time = configuration.wallClock()
        let unread = try await unreadOwners(ofPathsOf: imported, besides: gone)
        let new = imported.filter(\.isNew).map(\.task)
        let (rows, madeLists, retries, made) = try await client.transaction { transaction in
            let tables = SyncTables(transaction)
            // All shadows are read before a file gets the name of another one.
            let shadows = try files.map { file in
                var row = try tables.file(file.task) ?? file.deleted?.row ?? file.joined
                // What the last run wrote to the file is no edit by the user, regardless of edits
                // since then.
                if let put = unfinished[file.task], let old = row?.bytes, Self.has(file.file.bytes, put, over: old) {
                    row?.bytes = put
                }
                return row
            }
            for task in unread { try tables.setAside(task) }
            let rows = try zip(files, shadows).map { file, row in
                let merge = DocumentID.make(in: environment)
                return try Self.take(
                    file, row, list: directories[file.path.parent] ?? nil, userID, hosts, merge, time, transaction,
                    tables)
            }
            var made: [DocumentSnapshot] = []
            // A list that was deleted elsewhere has got tasks here in the meantime.
            for (path, list) in directories {
                guard let list, hosts[list] == nil, rows.contains(where: { $0.isAppended && $0.row.list == list })
                else { continue }
                let name = try DocumentName(list: list, in: transaction.databaseName)
                if try transaction.document(name).exists { continue }
                try Self.make(list: name, called: path.string, userID, in: transaction)
                made.append(try transaction.document(name))
            }
            // The document may contain more than the file. The feed reports the appended changes
            // again; the others must be remembered for a restart.
            let behind = try rows.filter {
                try !$0.isAppended && FileExport.isBehind($0.row, transaction.task($0.row.task))
            }
            return (
                rows, made, try tables.addRetries(behind.map(\.row.task), to: remembered),
                try Self.noteCreated(new, at: time, transaction)
            )
        }
        rememberedRetries = retries
        for list in madeLists { learn(list: list) }
        let back = rows.map(\.row.task).filter { held[$0] != nil }
        for (file, (row, isAppended)) in zip(imported, rows) {
            index.set(row.path, FileIndex.Entry(task: row.task, stamp: row.stamp))
            held[row.task] = nil
            waiting[row.task] = nil
            unfinishedWrites[row.task] = nil
            unfilled[row.task] = nil
            problems[file.path.string] = nil
            problems[Self.emptiedKey(row.task)] = nil
            if let deleted = file.deleted { try await bringBack(deleted.attachments, of: row.task, beside: row.path) }
            if !isAppended { self.retries.insert(row.task) }
            await noteAttachments(of: row.task, at: row.path)
            // The interrupted run that wrote the file did not do this.
            try await bringBackOrphans(of: row.task, beside: row.path)
        }
        // A save in place changes all hard links to the file and is reported under one name only.
        for row in rows.map(\.row) {
            for path in index.otherPaths(of: row.stamp, than: row.path) { changes.noteFound(path) }
        }
        for file in imported where file.isNew { logger.debug("'\(file.path)' is a new task, \(file.task)") }
        noteNewborn(new)
        for task in new { created[task] = made }
        try await reviewAttachments(of: back)
        // A former name of one of these files may be the right name of another file.
        if imported.contains(where: { $0.source != nil }) { self.retries.formUnion(misnamed) }
    }

    /// Reads the file of a task that a command is about to change, so that neither change is lost.
    ///
    /// If a file without a connection to this task is at its path, it is read later in its turn:
    /// the known file may have just been renamed, and that is reported first.
    func importFile(of task: TaskID) async throws {
        guard let path = index.path(of: task) else { return }
        if let known = index[path]?.stamp, known != .none, let now = try? folder.stamp(path), !known.isFile(of: now),
            let there = try? folder.read(path), try await isForeign(there, folder.taskID(of: path), where: task)
        {
            return changes.noteFound(path)
        }
        try await importFiles([path])
    }

    /// Whether a file contains the text that an interrupted run was about to write over `old`: all
    /// lines that are new in it.
    private static func has(_ text: [UInt8], _ put: [UInt8], over old: [UInt8]) -> Bool {
        if text == put { return true }
        func lines(_ text: [UInt8]) -> Set<ArraySlice<UInt8>> { Set(text.split(separator: UInt8(ascii: "\n"))) }
        let new = lines(put).subtracting(lines(old)).filter { $0.contains { $0 > 0x2D } }
        return !new.isEmpty && new.isSubset(of: lines(text))
    }

    /// Imports a version that a program saved just before Ferry wrote `row` to the file, if the
    /// file was moved, removed or edited just after that.
    func importOvertaken(_ saved: [UInt8], _ row: FileRow, _ stamp: FileStamp) async throws {
        var row = row
        row.stamp = stamp
        // A program was about to fill an empty file.
        if !saved.isEmpty, let file = try? TaskFile(parsing: saved, named: row.path.name) {
            let edit = ImportedFile(path: row.path, stamp: row.stamp, file: file, task: row.task, isNew: false)
            let (userID, hosts, merge) = (configuration.userID, hosts, DocumentID.make(in: environment))
            let time = configuration.wallClock()
            try await client.transaction { [row] transaction in
                let tables = SyncTables(transaction)
                let shadow = try tables.file(row.task)
                _ = try Self.take(edit, shadow, list: row.list, userID, hosts, merge, time, transaction, tables)
                try tables.put(row)
            }
        }
        try await remember([row])
    }

    private static func take(
        _ file: ImportedFile, _ row: FileRow?, list: ListID?, _ userID: UserID, _ hosts: [ListID: UserID],
        _ merge: String, _ time: Int64, _ transaction: ReplicaTransaction, _ tables: SyncTables
    ) throws -> (row: FileRow, isAppended: Bool) {
        let name = try DocumentName(task: file.task, in: transaction.databaseName)
        let view = try transaction.document(name)
        let former = row.flatMap { try? TaskFile(parsing: $0.bytes, named: $0.path.name) }
        var shadow = former.map { FileImport.FileContents($0, named: $0.name) }
        shadow?.item.listId = row?.list
        let renamed = former.map { TaskLayout.titled(file.file, after: $0, view.fields) } ?? file.file
        var contents = FileImport.FileContents(renamed, named: file.path.name)
        // A file that stays in its directory stays in its list, even if the list's directory is
        // another one now.
        let hasStayed = file.deleted == nil && row.map { $0.path.parent == file.path.parent } == true
        contents.item.listId = hasStayed ? row?.list : list
        let engine = FileImport(
            name: name, userID: userID, hosts: hosts, replica: transaction.replica, today: day(at: time))
        let step = try shadow.flatMap {
            try UndoSteps(transaction).unseenSave(of: file.task, over: $0.item, saved: contents.item)
        }
        let mutation = engine.mutation(
            shadow: shadow, file: contents, view: view, unseen: step?.displaced ?? [], id: merge,
            isBack: file.deleted != nil)
        if let mutation {
            try transaction.append(mutation)
            if let old = shadow?.item, view.exists, contents.item.series != nil {
                let new = TaskItem(fields: try transaction.document(name).fields(pendingTimes: .previous))
                let known = TaskItem(fields: view.fields(pendingTimes: .previous))
                _ = try archiveOccurrence(
                    completedBy: new, in: old, beside: known, always: false, engine, transaction)
            }
            if let step { try UndoSteps(transaction).add([step.step], at: time) }
        }
        let new = FileRow(
            task: file.task, path: file.path, list: contents.item.listId, stamp: file.stamp, bytes: file.file.bytes)
        try tables.put(new)
        try tables.unhold(file.task)
        return (new, mutation != nil)
    }
}
