import DocumentClient
import DocumentModel
import SystemService
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

    /// Takes over a batch of settled changes.
    func importChanges(_ batch: [DebouncedChange]) async throws {
        guard rootHold == nil else { return }
        logger.debug("settled: \(batch.count), the first of them \(batch.prefix(3))")
        var files: [TaskPath] = []
        var settled: [TaskPath: FileStamp] = [:]
        var removed: [TaskPath] = []
        var movedAway: [TaskPath] = []
        for change in batch {
            switch change {
            case .changed(let path, let stamp):
                lookAgain(ifMovedWithItsDirectory: path)
                if path.kind(isDirectory: false) == .attachment {
                    await noteAttachment(path, stamp, isEvent: true)
                } else {
                    forgetDirectory(namedAs: path)
                    files.append(path)
                    settled[path] = stamp
                }
            case .moved(let from, let to, let stamp, let afterDelete):
                lookAgain(ifMovedWithItsDirectory: to)
                if to.kind(isDirectory: false) == .attachment {
                    await noteAttachment(to, stamp)
                    removed.append(from)
                } else {
                    forgetDirectory(namedAs: to)
                    // What is wrong with the file is found again where it is now.
                    problems[from.string] = nil
                    try await moved(from, to, stamp, afterDelete: afterDelete)
                    files.append(to)
                    settled[to] = stamp
                }
            case .removed(let path): removed.append(path)
            case .movedAway(let path): movedAway.append(path)
            case .directoryMoved(let from, let to): try await directoryMoved(from, to)
            case .directoryAppeared(let path):
                // What is in it follows and is looked at anew.
                forgetProblems(of: path)
                // One that Ferry made may have another name by now.
                if path.kind(isDirectory: true) == .list, !isParentOnly(path), (try? folder.hasDirectory(path)) == true
                {
                    _ = try await list(at: path)
                }
                noteAbsent(beneath: path)
                // Before what is empty there counts as emptied by its user.
                if unexplored.contains(where: { $0.isBeneath(path) || path.isBeneath($0) }) {
                    try await rescan(isFirst: false)
                }
            case .directoryRemoved(let path): try await directoryRemoved(path)
            case .obstructed(let path, let origin):
                if let origin, index[origin] != nil, folder.isAbsent(origin) { outOfSight[origin] = path }
                switch path.kind(isDirectory: false) {
                case .taskFile: try? await importFiles([path])
                case .attachment: noteObstructed(attachment: path)
                default: break
                }
            case .problem(let problem): note(problem)
            case .rescanNeeded(let reason):
                logger.info("scanning again: \(reason.rawValue)")
                try await rescan(isFirst: false)
            case .rootChanged:
                guard try await checkRoot() else { return }
                try await rescan(isFirst: false)
            }
        }
        try await importFiles(files, settled: settled)
        await noteMovedAttachments()
        // Where not all directories are watched, what has gone from one may have come to another:
        // that is looked for first.
        if !folder.isFullyWatched, (removed + movedAway).contains(where: isKnown) { try await rescan(isFirst: false) }
        // Perhaps into what cannot be read: the scan when it can be finds it there, or misses it.
        if !movedAway.isEmpty, !isHiding { removed += readable(movedAway) }
        if !removed.isEmpty { try await importRemovals(removed) }
        if batch.contains(where: { if case .directoryAppeared = $0 { true } else { false } }) {
            try await forgetMissingLists()
        }
    }

    /// Where a directory with the name of a task's file was, there is a file now.
    private func forgetDirectory(namedAs path: TaskPath) {
        folderProblems["\(Self.word(FolderProblem.Kind.directoryNamedAsTask)) \(path.string)"] = nil
    }

    private func isKnown(_ path: TaskPath) -> Bool {
        if path.kind(isDirectory: false) != .attachment { return index[path] != nil }
        return index[path.taskFileOfAttachments].map { attachments.row(of: $0.task, named: path.name) != nil } ?? false
    }

    func note(_ problem: FolderProblem) {
        note(folder: SyncProblem(code: Self.word(problem.kind), subject: problem.path, message: problem.message))
    }

    // MARK: Files

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
            try await bringBackLeft(of: row.task, beside: row.path)
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
        var shadow: FileImport.Said?
        if let row {
            shadow = (try? TaskFile(parsing: row.bytes, named: row.path.name)).map {
                FileImport.Said($0, named: row.path.name)
            }
            shadow?.item.listId = row.list
        }
        var said = FileImport.Said(file.file, named: file.path.name)
        // A file that stays where it was stays in its list, wherever that list's directory is.
        let hasStayed = file.deleted == nil && row.map { $0.path.parent == file.path.parent } == true
        said.item.listId = hasStayed ? row?.list : list
        let view = try transaction.document(name)
        let engine = FileImport(
            name: name, userID: userID, hosts: hosts, replica: transaction.replicaID, today: day(at: time))
        let step = try shadow.flatMap {
            try UndoSteps(transaction).unseenSave(of: file.task, over: $0.item, saved: said.item)
        }
        let mutation = engine.mutation(
            shadow: shadow, file: said, view: view, unseen: step?.displaced ?? [], id: merge,
            isBack: file.deleted != nil)
        if let mutation {
            try transaction.append(mutation)
            if let step { try UndoSteps(transaction).add([step.step], at: time) }
        }
        let new = FileRow(
            task: file.task, path: file.path, list: said.item.listId, stamp: file.stamp, bytes: file.file.bytes)
        try tables.put(new)
        try tables.unhold(file.task)
        return (new, mutation != nil)
    }

    /// The same text with another owner or mode: an export that waits for the stamp it knows must know this one.
    private func restamp(_ task: String, _ path: TaskPath, _ stamp: FileStamp) async throws {
        let remembered = rememberedRetries
        let retries: Set<String>? = try await client.transaction { transaction in
            let tables = SyncTables(transaction)
            guard var row = try tables.file(task), row.path == path else { return nil }
            row.stamp = stamp
            try tables.put(row)
            let isBehind = FileExport.isBehind(row, try transaction.task(task))
            return try tables.addRetries(isBehind ? [task] : [], to: remembered)
        }
        guard let retries else { return }
        rememberedRetries = retries
        index.set(path, FileIndex.Entry(task: task, stamp: stamp))
        self.retries.insert(task)
    }

    /// A file that cannot be read has another owner or mode only, as far as can be seen: news of its
    /// task can be put in its place all the same.
    private func takeUnreadable(_ path: TaskPath) async throws {
        guard let entry = index[path], held[entry.task] == nil, let now = try? folder.stamp(path),
            entry.stamp != now, entry.stamp.hasContent(of: now)
        else { return }
        if try await isBehind(entry.task) { try await restamp(entry.task, path, now) }
    }

    /// Notes where a known file is by now that has moved without an event, and that cannot be read
    /// there, such as one that has grown too large: it has not been deleted.
    private func followUnread(_ path: TaskPath) async throws {
        guard index[path] == nil, let now = (try? folder.stamp(path)) ?? nil else { return }
        let identifier = (try? folder.identifier(path)) ?? nil
        let known = identifier.map { index.path(of: $0) } ?? index.path(withInodeOf: now)
        guard let known, folder.isAbsent(known) else { return }
        try await moved(known, path, now, afterDelete: false)
    }

    /// The file if it is there, changed, and readable; what keeps it out is noted.
    ///
    /// - Parameter replaced: gets the task whose place another one's file has taken.
    private func read(
        _ path: TaskPath, settled: FileStamp?, claimed: [ImportedFile], _ replaced: inout Set<String>
    ) async throws -> ImportedFile? {
        let content: TaskFileContent
        do throws(FolderError) {
            guard let now = try folder.stamp(path) else { throw FolderError(.notFound, "\(path) has gone") }
            // The echo of what was read or written last.
            if let entry = index[path], entry.stamp == now, !now.isCoarse, held[entry.task] == nil {
                problems[path.string] = nil
                return nil
            }
            if unfilled.values.contains(where: { $0.stamp.hasContent(of: now) }) { return nil }
            content = try folder.read(path)
        } catch {
            switch error.code {
            case .notFound:
                problems[path.string] = nil
                // Perhaps with the whole directory: when that is back, a scan looks at it.
                if try await checkRoot(), !folder.isAbsent(path) { changes.noteFound(path) }
            case .unstable: break
            default:
                note(
                    SyncProblem(code: Self.word(error.code), subject: path.string, message: error.message),
                    for: path.string)
                try await followUnread(path)
                try await takeUnreadable(path)
            }
            return nil
        }
        if let entry = index[path], entry.stamp.hasContent(of: content.stamp), held[entry.task] == nil,
            try await client.reading({ try SyncTables($0).file(entry.task)?.bytes }) == content.bytes
        {
            problems[path.string] = nil
            try await forgetReverts([entry.task])
            if entry.stamp != content.stamp { try await restamp(entry.task, path, content.stamp) }
            return nil
        }
        if try await isHeldRevert(path, content) { return nil }
        // Another file has come there since: the known one may have been renamed a moment ago, and that is told first.
        if let settled, !settled.isFile(of: content.stamp), index[path]?.stamp.isFile(of: content.stamp) == false {
            changes.noteFound(path)
            return nil
        }
        if content.bytes.isEmpty, settled?.size != 0, let entry = index[path], entry.stamp.size != 0 {
            changes.noteFound(path)
            return nil
        }
        // Read under another name a moment ago, and put here since: that is told of next.
        if claimed.contains(where: { $0.stamp.isFile(of: content.stamp) && folder.isAbsent($0.path) }) { return nil }
        let file: TaskFile
        do throws(TaskFileProblem) {
            file = try TaskFile(parsing: content.bytes, named: path.name)
        } catch {
            note(
                SyncProblem(
                    code: Self.word(error.code), subject: path.string, message: error.description,
                    hint: "The file is left alone, and the remote keeps its last good version, until it is mended."),
                for: path.string)
            return nil
        }
        let identifier = try? folder.identifier(path)
        // Another file may have just been put there: whose that is says nothing of this text.
        if let identifier, identifier != index[path]?.task,
            (try? folder.stamp(path))?.isFile(of: content.stamp) != true
        {
            changes.noteFound(path)
            return nil
        }
        var (task, isNew) = try await identify(path, content, identifier, claimed: claimed, &replaced)
        if isNew, try await waitsForItsTask(path, identifier, claimed: claimed) { return nil }
        if !isNew { endWait(of: path, for: task) }
        let deleted = isNew ? try await deletedFile(path, content.bytes, claimed: claimed) : nil
        if let deleted {
            (task, isNew) = (deleted.row.task, false)
            deletedFiles = deletedFiles.filter { $0.value.row.task != deleted.row.task }
        }
        let joined = isNew ? try await unwrittenTask(path, file, claimed: claimed) : nil
        if let joined { (task, isNew) = (joined.task, false) }
        if let problem = try await limitProblem(of: file, at: path, task) {
            note(problem, for: path.string)
            return nil
        }
        // A move that nobody was told of: into a directory that was new itself, or while nobody watched.
        let origin = movedFrom.removeValue(forKey: path)
        let old = isNew ? nil : index.path(of: task).flatMap { $0 == path ? nil : $0 }
        var stamp = content.stamp
        // Also of a known one, where its editor has put a new file in its place: under another name
        // nothing else tells whose it is.
        if identifier != task {
            if let changed = try? folder.setIdentifier(path, to: task, of: stamp) {
                stamp = changed
            } else if folder.isAbsent(path) {
                // It has just got another name, and is read under that: nothing of it would be on
                // the disk, nor a mark in it.
                changes.askForScan()
                return nil
            }
        }
        return ImportedFile(
            path: path, stamp: stamp, file: file, task: task, isNew: isNew, source: old ?? origin,
            attachmentSource: old, deleted: deleted, joined: joined?.row)
    }

    /// The limit of documents that a task's file would break; `nil` if it keeps them all. The
    /// remote would refuse such a file, and everything later of the task with it.
    private func limitProblem(of file: TaskFile, at path: TaskPath, _ task: String) async throws -> SyncProblem? {
        let name = try await name(of: task)
        var fields = FileImport.Said(file, named: path.name).fields
        let attached = attachments.rows(of: task).count
        if file.bytes.count > Self.surelySmall || attached > 100 {
            let known = try await client.document(name).fields(pendingTimes: .previous)
            fields.merge(known.filter { !["notes", "fields", "tags"].contains($0.key) }) { own, _ in own }
        }
        do throws(WriteError) {
            try DocumentLimits.check(fields, of: name)
            return nil
        } catch {
            let size = DocumentLimits.size(of: name, fields: fields)
            let limit = DocumentLimits.maximumSize
            let use =
                "With \(attached) attachments the task would take \(size) of the \(limit) bytes that a task may have. Front "
                + "matter counts twice."
            return SyncProblem(
                code: "too-large", subject: path.string, message: size > limit ? use : error.message,
                hint: "Shorten the file. It is left alone, and other machines keep its last good version.")
        }
    }

    /// Files up to this size fit into a document with up to 100 attachments, whatever is in them.
    private static let surelySmall = 300_000

    /// `kebab-case` of a case's name.
    static func word(_ code: some Any) -> String {
        var word = ""
        for character in "\(code)" {
            if character.isUppercase { word += "-" }
            word += character.lowercased()
        }
        return word
    }

    // MARK: Moves

    /// A known file has a new path; its attachments go with it.
    ///
    /// - Parameter afterDelete: Whether a file was deleted at `to` just before.
    private func moved(_ from: TaskPath, _ to: TaskPath, _ stamp: FileStamp, afterDelete: Bool) async throws {
        guard let entry = index[from], from.kind(isDirectory: false) == .taskFile else { return }
        // The echo of a move of Ferry's own, after which the old name may have been given to another task.
        if let known = index[to], known.stamp.isFile(of: stamp) { return }
        guard entry.stamp.isFile(of: stamp) || (folder.isAbsent(from) && !isOther(stamp, at: to, than: entry.task))
        else { return }
        if let replaced = index[to], replaced.task != entry.task {
            // Where not all directories are watched, only a scan shows whether it has gone to
            // another: the import asks for it.
            guard folder.isFullyWatched else { return }
            // Saved under another name first: it is this one's new text.
            if !afterDelete, isNewborn(entry.task, after: replaced.task), try await !isBehind(entry.task) {
                try await dissolve(entry.task)
                return take(to, stamp, for: replaced.task)
            }
            try await forgetReplaced(replaced.task)
        }
        if to.kind(isDirectory: false) == .taskFile { moveAttachments(from: from, to: to) }
        // The row keeps its old path until the file was read there: then title and list follow from the difference.
        index.set(to, FileIndex.Entry(task: entry.task, stamp: FileStamp(unknownContentOf: stamp)))
        movedFrom[to] = from
        retries.formUnion(misnamed)
    }

    /// Whether a file is the known one of another task, to which the name that it left did not belong any more.
    func isOther(_ stamp: FileStamp, at path: TaskPath, than task: String) -> Bool {
        guard let known = index.path(withInodeOf: stamp).flatMap({ index[$0] }), known.task != task else {
            return false
        }
        return known.stamp.hasContent(of: stamp) || (try? folder.identifier(path)) == known.task
    }
}
