import DocumentClient
import DocumentModel
import TaskFolder
import TaskModel

/// From files to documents.
extension TaskSync {
    /// A task file as it was found, and whose it is.
    struct ImportedFile: Sendable {
        let path: TaskPath
        let stamp: FileStamp
        let file: TaskFile
        let task: String
        let isNew: Bool
        /// Where it was before, if it has moved.
        var source: TaskPath?
        /// Where its attachments are, if they have to follow it.
        var attachmentSource: TaskPath?
        /// What the task's file was before it was deleted, if this one continues it.
        var deleted: DeletedFile?
        /// The version from which the file and a task that has had no file here continue, if it is that task's.
        var joined: FileRow?
    }

    /// Reads task files and appends what the user changed, in one transaction.
    ///
    /// - Parameter settled: what they were when they had settled. One that is empty now, and was not, is waited for: editors truncate
    ///   before they write.
    /// - Parameter following: how many further files a scan has found that are to be read.
    /// - Parameter sendsReverts: whether older versions are edits, however many they are.
    func importFiles(
        _ paths: [TaskPath], settled: [TaskPath: FileStamp] = [:], isScan: Bool = false, following: Int = 0,
        sendsReverts: Bool = false
    ) async throws {
        if !unfinishedMoves.isEmpty { try await finishMoves() }
        var imported: [ImportedFile] = []
        var seen = Set<TaskPath>()
        var replaced = Set<String>()
        for path in inOrderOfIdentity(paths) where seen.insert(path).inserted {
            if let file = try await read(path, settled: settled[path], claimed: imported, &replaced) {
                imported.append(file)
            }
        }
        // Two files that change names may settle one after the other: the second one is known by its inode.
        for task in replaced where !imported.contains(where: { $0.task == task }) {
            guard let known = index.path(of: task).flatMap({ index[$0] }) else { continue }
            let vacated = imported.compactMap(\.source).first { path in
                (try? folder.stamp(path))?.isFile(of: known.stamp) == true
            }
            guard let vacated, seen.insert(vacated).inserted else { continue }
            if let file = try await read(vacated, settled: nil, claimed: imported, &replaced) { imported.append(file) }
        }
        if !sendsReverts {
            imported = try await withoutHeldReverts(imported, following: following + changes.pendingCount)
        }
        guard !imported.isEmpty else { return }
        if isScan { changes.noteRead(imported.map(\.path)) }
        // Where not all directories are watched, those may have gone to others before: that is looked for first.
        if !replaced.isEmpty, !isScan, !folder.isFullyWatched { return changes.askForScan() }
        for task in replaced where !imported.contains(where: { $0.task == task }) { try await forgetReplaced(task) }
        // Not before the attachments of a task that had the place are out of the way.
        moveAttachments(of: imported)
        // A power cut must not take back on this disk what others have been told.
        let gone = folder.synchronize(imported.map(\.path) + imported.compactMap(\.source))
        // One that has just got another name is read under that. Whose attachments came here is noted here first.
        if imported.contains(where: { gone.contains($0.path) && $0.attachmentSource == nil }) {
            changes.askForScan()
            imported.removeAll { gone.contains($0.path) && $0.attachmentSource == nil }
            guard !imported.isEmpty else { return }
        }
        var listIDs: [TaskPath: String?] = [:]
        for file in imported where listIDs[file.path.parent] == nil {
            listIDs[file.path.parent] = try await list(at: file.path.parent)
        }
        let (files, directories, userID, hosts) = (imported, listIDs, configuration.userID, hosts)
        let (environment, remembered, unfinished) = (environment, rememberedRetries, unfinishedWrites)
        let time = configuration.wallClock()
        let new = imported.filter(\.isNew).map(\.task)
        let (rows, madeLists, retries, made) = try await client.transaction { transaction in
            let tables = SyncTables(transaction)
            // Before any of them gets a name that was another one's.
            let shadows = try files.map { file in
                var row = try tables.file(file.task) ?? file.deleted?.row ?? file.joined
                // What the last run put there is no edit of its user's, whatever somebody has edited since.
                if let put = unfinished[file.task], let old = row?.bytes, Self.has(file.file.bytes, put, over: old) {
                    row?.bytes = put
                }
                return row
            }
            let rows = try zip(files, shadows).map { file, row in
                let merge = DocumentID.make(in: environment)
                return try Self.take(
                    file, row, list: directories[file.path.parent] ?? nil, userID, hosts, merge, time, transaction,
                    tables)
            }
            var made: [DocumentSnapshot] = []
            // One that was deleted elsewhere has got tasks here meanwhile.
            for (path, list) in directories {
                guard let list, hosts[list] == nil, rows.contains(where: { $0.isAppended && $0.row.list == list })
                else { continue }
                let name = try DocumentName(database: transaction.databaseName, collection: "lists", id: list)
                if try transaction.document(name).exists { continue }
                try Self.make(list: name, called: path.string, userID, in: transaction)
                made.append(try transaction.document(name))
            }
            // The document may say more than the file. What was appended comes back with the feed;
            // of the rest a restart must know.
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
            // Written by a run that was cut off before it did that.
            try await bringBackOrphans(of: row.task, beside: row.path)
        }
        // A save in place is one of all hard links to the file, and told of under one name.
        for row in rows.map(\.row) {
            for path in index.otherPaths(of: row.stamp, than: row.path) { changes.noteFound(path) }
        }
        noteNewborn(new)
        for task in new { created[task] = made }
        try await reviewAttachments(of: back)
        // A name that one of them has left may be another one's by right.
        if imported.contains(where: { $0.source != nil }) { self.retries.formUnion(misnamed) }
    }

    /// Reads the file of a task that a command is about to change, so that neither change is lost.
    /// Another one in its place that says nothing of this task is looked at when its time has come:
    /// the known one may have been renamed a moment ago, and that is told first.
    func importFile(of task: String) async throws {
        guard let path = index.path(of: task) else { return }
        if let known = index[path]?.stamp, known != .none, let now = try? folder.stamp(path), !known.isFile(of: now),
            let there = try? folder.read(path), try await isForeign(there, try? folder.identifier(path), where: task)
        {
            return changes.noteFound(path)
        }
        try await importFiles([path])
    }

    /// Whether a file has what a cut-off run was to put into it instead of `old`, as far as that
    /// can be told: all lines that came new.
    private static func has(_ text: [UInt8], _ put: [UInt8], over old: [UInt8]) -> Bool {
        if text == put { return true }
        func lines(_ text: [UInt8]) -> Set<ArraySlice<UInt8>> { Set(text.split(separator: UInt8(ascii: "\n"))) }
        let new = lines(put).subtracting(lines(old)).filter { $0.contains { $0 > 0x2D } }
        return !new.isEmpty && new.isSubset(of: lines(text))
    }

    /// Somebody saved a file just before `row` was written to it, and moved, removed or edited it just after that.
    func importOvertaken(_ saved: [UInt8], _ row: FileRow, _ stamp: FileStamp) async throws {
        var row = row
        row.stamp = stamp
        // An empty one its editor was about to fill.
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
        _ file: ImportedFile, _ row: FileRow?, list: String?, _ userID: UserID, _ hosts: [String: UserID],
        _ merge: String, _ time: Int64, _ transaction: ReplicaTransaction, _ tables: SyncTables
    ) throws -> (row: FileRow, isAppended: Bool) {
        let name = try DocumentName(database: transaction.databaseName, collection: "tasks", id: file.task)
        var shadow: FileImport.FileContents?
        if let row {
            shadow = (try? TaskFile(parsing: row.bytes, named: row.path.name)).map {
                FileImport.FileContents($0, named: row.path.name)
            }
            shadow?.item.listId = row.list
        }
        var contents = FileImport.FileContents(file.file, named: file.path.name)
        // A file that stays where it was stays in its list, wherever that list's directory is.
        let hasStayed = file.deleted == nil && row.map { $0.path.parent == file.path.parent } == true
        contents.item.listId = hasStayed ? row?.list : list
        let view = try transaction.document(name)
        let engine = FileImport(
            name: name, userID: userID, hosts: hosts, replica: transaction.replicaID, today: day(at: time))
        let step = try shadow.flatMap {
            try UndoSteps(transaction).unseenSave(of: file.task, over: $0.item, saved: contents.item)
        }
        let mutation = engine.mutation(
            shadow: shadow, file: contents, view: view, unseen: step?.displaced ?? [], id: merge,
            isBack: file.deleted != nil)
        if let mutation {
            try transaction.append(mutation)
            if let step { try UndoSteps(transaction).add([step.step], at: time) }
        }
        let new = FileRow(
            task: file.task, path: file.path, list: contents.item.listId, stamp: file.stamp, bytes: file.file.bytes)
        try tables.put(new)
        try tables.unhold(file.task)
        return (new, mutation != nil)
    }
}
