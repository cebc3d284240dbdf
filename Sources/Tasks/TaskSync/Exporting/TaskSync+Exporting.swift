import DocumentClient
import DocumentModel
import Reconciliation
import SQLite
import SystemIO
import TaskFolder
import TaskModel

/// Turns changes of documents into changes of files.
extension TaskSync {
    /// Writes the changes that the feed reports to files, at most `batches` batches.
    func exportChanges(batches: Int = .max) async throws {
        guard rootHold == nil else { return }
        if isPaused { return try await showChanges() }
        for number in 0... {
            let batch = try await client.reading { try $0.changes(for: Self.consumer, limit: Self.batchSize) }
            guard let last = batch.last else { break }
            guard number < batches else { return }
            let names = Set(batch.map(\.name))
            try await noteHistory(names.filter { $0.collectionID == TaskHistory.collection })
            let lists = names.filter { $0.collectionPath == "lists" }
            try await exportLists(lists)
            let tasks = names.filter { $0.collectionPath == "tasks" }
            try await export(tasks.map(\.task).sorted())
            // A deleted list is empty only after its tasks have left.
            for list in lists { try await removeDeletedList(list) }
            try await acknowledge(through: last.sequence)
        }
        try await exportRetries()
        try await forgetCreated()
    }

    /// Updates the catalog while syncing is paused, when no files are written.
    private func showChanges() async throws {
        let views = try await client.reading { transaction in
            try transaction.changes(for: Self.consumer, limit: 10_000).map { try transaction.document($0.name) }
        }
        for view in views {
            switch view.name.collectionPath {
            case "tasks": learn(TaskIndexEntry(view, in: configuration.reading))
            case "lists": learn(list: view)
            default: break
            }
        }
    }

    private func noteHistory(_ names: Set<DocumentName>) async throws {
        guard !names.isEmpty else { return }
        let open = try await client.reading { transaction in
            try names.filter { Self.isOpen(try transaction.document($0)) }
        }
        openConflicts.subtract(names)
        openConflicts.formUnion(open)
        try await noteRemovedAttachments(names)
    }

    // MARK: Tasks

    /// A task and the file that it should have.
    private struct Pending: Sendable {
        let task: TaskID
        let view: DocumentSnapshot
        let row: FileRow?
        /// The reason why the server refuses the local change.
        let refusal: String?
    }

    /// The files that an export moves and writes together.
    private struct Batch {
        var moves: [(row: FileRow, path: TaskPath, bytes: [UInt8])] = []
        var writes: [(row: FileRow, write: FolderWrite)] = []
        /// The paths of new and of moved files.
        var reserved: Set<TaskPath> = []
        /// The tasks of the files in `moves`.
        var moving: Set<TaskID> = []
    }

    /// The number of files that are read or written together. Their contents are in memory at the
    /// same time.
    static let batchSize = 500

    /// Brings the files of tasks in step with their documents. If this is interrupted, all of them
    /// are still behind.
    func export(_ tasks: [TaskID]) async throws {
        guard !tasks.isEmpty else { return }
        retries.subtract(tasks)
        do {
            try await write(tasks)
        } catch {
            retries.formUnion(tasks)
            throw error
        }
    }

    private func write(_ tasks: [TaskID]) async throws {
        let pending = try await client.reading { transaction in
            let tables = SyncTables(transaction)
            return try tasks.compactMap { task -> Pending? in
                let view = try transaction.task(task)
                // The feed of changes reports when the document has arrived.
                guard !view.isAwaited else { return nil }
                let refusal = try view.hasParkedWrites ? transaction.pending(view.name).firstRefusal : nil
                return Pending(task: task, view: view, row: try tables.file(task), refusal: refusal)
            }
        }
        var batch = Batch()
        var changedHere: [TaskPath] = []
        var gone: [TaskID] = []
        var expected: [TaskPath: Bool] = [:]
        var replaced: [TaskPath: Bool] = [:]
        // What was read about the files before their moves is out of date: they are still behind.
        var moved = Set<TaskID>()
        let facts = pending.map { TaskIndexEntry($0.view, in: configuration.reading) }
        for facts in facts { learn(facts) }
        moved = try await settleRecurring(pending.map(\.view))
        let leaving = zip(pending, facts).filter { $1.request == nil && waiting[$0.task] == nil }.map(\.0)
        moved.formUnion(leaving.map(\.task))
        // Their names are free for the other files now.
        changedHere = try await takeAway(leaving)
        for (item, facts) in zip(pending, facts) where !moved.contains(item.task) {
            await exportAttachments(of: item.view)
            noteParked(item)
            if waiting[item.task] != nil {
                gone.append(item.task)
                continue
            }
            if reverted[item.task] != nil { continue }
            do {
                let list = facts.entry?.list
                guard let directory = try await self.directory(ofList: list), try !awaitsNews(of: directory, &expected)
                else {
                    retries.insert(item.task)
                    continue
                }
                if item.row?.path.parent != directory, isReplaced(directory, &replaced) {
                    retries.insert(item.task)
                    changes.askForScan()
                    continue
                }
                if item.row == nil {
                    if soughtFiles.contains(item.task) {
                        retries.insert(item.task)
                        continue
                    }
                    if try await join(item.view, in: directory) { continue }
                    if try awaitsUnreadFile(of: item.task, in: directory) {
                        retries.insert(item.task)
                        continue
                    }
                }
                if isToBeJoined(item.task, in: list) {
                    retries.insert(item.task)
                    continue
                }
                // The name may become free by a move that is still to be made.
                if let right = try rightPath(of: item.task, in: directory), let other = index[right]?.task,
                    batch.moving.contains(other)
                {
                    try await move(&batch, &changedHere)
                }
                if let other = try await makeWay(for: item, in: directory, batch.reserved) { moved.insert(other) }
                let plan = try FileExport.plan(
                    item.view, row: item.row, directory: directory, number: names.number(of: item.task)
                ) { path in
                    if batch.reserved.contains(path) || index[path] != nil { return true }
                    do throws(FolderError) {
                        guard try folder.stamp(path) != nil else { return false }
                        // The task's own file, if it was written just before its directory was
                        // renamed.
                        return item.row != nil || folder.taskID(of: path) != item.task
                    } catch {
                        // Something else than a file is there, such as a directory.
                        guard error.code == .wrongKind else { throw error }
                        return true
                    }
                }
                switch plan {
                case .nothing:
                    noteMisnamed(item.task, at: index.path(of: item.task), in: directory)
                    problems["export \(item.task)"] = nil
                case .create(let path, let bytes):
                    noteMisnamed(item.task, at: path, in: directory)
                    batch.reserved.insert(path)
                    let row = FileRow(
                        task: item.task, path: path, list: knownList(list),
                        stamp: FileStamp.none, bytes: bytes)
                    batch.writes.append(
                        (
                            row,
                            FolderWrite(
                                path: path, bytes: bytes, expecting: .absent, mark: mark(of: item.task, at: path))
                        ))
                case .update(var row, let path, let bytes):
                    noteMisnamed(item.task, at: path, in: directory)
                    // Path and list change in one step: a file's directory must be that of the list
                    // in its row.
                    if row.list != list { row.list = knownList(list) }
                    if path != row.path {
                        batch.reserved.insert(path)
                        batch.moving.insert(item.task)
                        batch.moves.append((row, path, bytes))
                    } else if bytes == row.bytes {
                        try await remember([row])
                        problems["export \(item.task)"] = nil
                    } else {
                        add(row, bytes, to: &batch)
                    }
                }
            } catch let error as SQLiteError {
                // The error does not concern a file: the turn has failed.
                throw error
            } catch {
                noteExport(item.task, at: item.row?.path, error)
            }
        }
        try await move(&batch, &changedHere)
        try await perform(batch.writes, &changedHere)
        try await reconcile(gone)
        await noteMovedAttachments()
        // These are behind until the files are read, which may have to wait.
        retries.formUnion(changedHere.compactMap { index[$0]?.task })
        try await importChangedHere(changedHere)
    }

    /// Moves the files of a batch that are to be moved, so that their new texts can be written.
    private func move(_ batch: inout Batch, _ changedHere: inout [TaskPath]) async throws {
        let moves = batch.moves
        batch.moves = []
        batch.moving = []
        let texts = Dictionary(moves.map { ($0.row.task, $0.bytes) }) { first, _ in first }
        for row in try await rename(moves.map { ($0.row, $0.path) }, &changedHere) {
            if let bytes = texts[row.task], bytes != row.bytes {
                add(row, bytes, to: &batch)
            } else {
                problems["export \(row.task)"] = nil
            }
        }
    }

    private func add(_ row: FileRow, _ bytes: [UInt8], to batch: inout Batch) {
        var new = row
        new.bytes = bytes
        let write = FolderWrite(
            path: row.path, bytes: bytes, expecting: .stamp(row.stamp), mark: mark(of: row.task, at: row.path))
        batch.writes.append((new, write))
    }

    /// Reads the files that were found to have changed. If another file is at the path of a known
    /// one, it is read later in its turn: the known file may have just been renamed, and that is
    /// reported first.
    private func importChangedHere(_ paths: [TaskPath]) async throws {
        var edited: [TaskPath] = []
        for path in paths {
            if let known = index[path]?.stamp, known != .none, let now = try? folder.stamp(path), !known.isFile(of: now)
            {
                changes.noteFound(path)
            } else {
                edited.append(path)
            }
        }
        if !edited.isEmpty { try await importFiles(edited) }
    }

    /// Plans what happens to files whose documents are gone, and performs the plan.
    ///
    /// - Returns: The files that have changed. Nothing was done to them.
    private func takeAway(_ items: [Pending]) async throws -> [TaskPath] {
        guard !items.isEmpty else { return [] }
        var files: [TaskID: PathState] = [:]
        for item in items {
            await exportAttachments(of: item.view)
            noteParked(item)
            noteMisnamed(item.task, at: nil, in: .root)
            problems["export \(item.task)"] = nil
            files[item.task] = item.row.map { PathState($0, item.view) }
        }
        return try await perform(plan(files, RecentChanges())).files
    }

    func noteExport(_ task: TaskID, at path: TaskPath?, _ error: any Error) {
        let message: String
        var hint: String?
        switch error {
        case let error as FolderError:
            message = error.message
            if error.isTransient { retries.insert(task) }
            hint = error.isTransient ? "It is tried again by itself." : nil
        case let error as TaskFileProblem:
            message = error.description
            hint = "The remote has the change; 'ferry show' shows it."
        default: message = "\(error)"
        }
        note(
            SyncProblem(
                code: "not-written", subject: path?.string ?? catalog[task]?.title, message: message, hint: hint),
            for: "export \(task)")
    }

    private func noteParked(_ item: Pending) {
        guard let refusal = item.refusal else { return problems["parked \(item.task)"] = nil }
        note(
            SyncProblem(
                code: "refused", subject: catalog[item.task]?.title,
                message: "The remote refuses a change of this task (\(refusal)); it is kept here.",
                hint:
                    "'ferry show \(item.task.rawValue.prefix(8))' shows the task; edit it, or sign in to the right account."
            ),
            for: "parked \(item.task)")
    }

    /// Records a task's entry in the catalog and the name of its file. Other files whose names
    /// change as a result are renamed later.
    func learn(_ facts: TaskIndexEntry) {
        catalog.update(facts)
        retries.formUnion(names.set(facts.id, facts.request).filter { index.path(of: $0) != nil })
    }

    /// Renames the file of another task that has a name which belongs to a task's file.
    ///
    /// - Parameter reserved: The names of files that are about to be written.
    /// - Returns: The path of the renamed file.
    private func makeWay(
        for item: Pending, in directory: TaskPath, _ reserved: Set<TaskPath>
    ) async throws -> TaskID? {
        guard let path = try rightPath(of: item.task, in: directory), let other = index[path]?.task,
            other != item.task, let request = names.request(of: other)
        else { return nil }
        let place = request.place.flatMap { lists.path($0) } ?? .root
        guard let right = try rightPath(of: other, in: place), right != path else { return nil }
        let row = try await client.reading { try SyncTables($0).file(other) }
        guard let row, row.path == path else { return nil }
        retries.insert(other)
        for number in NameRequest.numbers(from: names.number(of: other)) {
            let free = try path.parent.appending(TaskFileName.file(for: request.title, number: number).name)
            guard free != path, index[free] == nil, !reserved.contains(free), try folder.stamp(free) == nil else {
                continue
            }
            // With its new name the file may need a `title`, which must not be forgotten after a
            // restart.
            try await rememberRetry(other)
            var changedHere: [TaskPath] = []
            _ = try await rename([(row, free)], &changedHere)
            try await importChangedHere(changedHere)
            return other
        }
        return nil
    }

    /// Remembers a task whose file could not have its name because another file or directory has
    /// it.
    private func noteMisnamed(_ task: TaskID, at path: TaskPath?, in directory: TaskPath) {
        if let path, let right = try? rightPath(of: task, in: directory), right != path {
            misnamed.insert(task)
        } else {
            misnamed.remove(task)
        }
        noteMapped(task, at: path)
    }

    /// Reports a file whose name differs from its title although the title is a possible name. It
    /// has such a name only on the machine of the user who chose it.
    func noteMapped(_ task: TaskID, at path: TaskPath?) {
        let key = "name \(task)"
        guard let path, let request = names.request(of: task), !request.isExact,
            let chosen = try? path.parent.appending(request.title + TaskFileName.suffix), chosen != path,
            chosen.kind(isDirectory: false) == .taskFile
        else { return problems[key] = nil }
        note(
            SyncProblem(
                code: "name-mapped", subject: path.string,
                message: "Its title has characters that hide or reorder text, so the file has another name here.",
                hint:
                    "For one name on all machines, give it another title: ferry set \(task.rawValue.prefix(8)) title:…"),
            for: key)
    }

    func rightPath(of task: TaskID, in directory: TaskPath) throws -> TaskPath? {
        guard let request = names.request(of: task) else { return nil }
        return try directory.appending(TaskFileName.file(for: request.title, number: names.number(of: task)).name)
    }

    /// Writes files together, so that they are synchronized to disk together, and records those
    /// that were written.
    private func perform(_ writes: [(row: FileRow, write: FolderWrite)], _ changedHere: inout [TaskPath]) async throws {
        guard !writes.isEmpty else { return }
        // The tasks of new files are recorded first: a file may be edited before this replica,
        // after an interruption, reads it again.
        let new = writes.filter { $0.write.expecting == .absent }.map(\.row)
        try await remember(new)
        // The new contents of known files are recorded as well: after an interruption they are no
        // edit by the user.
        let known = writes.filter { $0.write.expecting != .absent }.map { ($0.row.task, $0.write.bytes) }
        if !known.isEmpty {
            try await client.transaction(waitingForDisk: false) { try SyncTables($0).announce(known) }
        }
        var done: [FileRow] = []
        for ((row, write), result) in zip(writes, folder.write(writes.map(\.write))) {
            switch result {
            case .success(.written(let stamp)):
                var row = row
                row.stamp = stamp
                done.append(row)
                problems["export \(row.task)"] = nil
            case .success(.overtaken(let stamp, let saved)):
                try await importOvertaken(saved, row, stamp)
                if folder.isAbsent(row.path) { isMissing(row.task, at: row.path) } else { changedHere.append(row.path) }
            case .success(.changed(let stamp)):
                if stamp == nil {
                    isMissing(row.task, at: row.path)
                } else if row.stamp == .none {
                    if try await isOwnWrite(write) { done.append(row) } else { retries.insert(row.task) }
                } else if index[write.path]?.task == row.task {
                    changedHere.append(write.path)
                } else {
                    retries.insert(row.task)
                }
            case .failure(let error) where error.code == .notFound:
                // Its directory is gone or was renamed. The next attempt finds that out, and a scan
                // finds what was left in the directory.
                retries.insert(row.task)
                changes.askForScan()
            case .failure(let error):
                note(
                    SyncProblem(
                        code: "not-written", subject: write.path.string, message: error.message,
                        hint: error.isTransient ? "It is tried again by itself." : nil), for: "export \(row.task)")
                if error.isTransient { retries.insert(row.task) }
            }
        }
        let written = Set(done.map(\.task))
        let unwritten = new.map(\.task).filter { !written.contains($0) }
        if !unwritten.isEmpty {
            try await client.transaction { transaction in
                for task in unwritten { try SyncTables(transaction).removeFile(task) }
            }
            for task in unwritten { index.remove(task: task) }
        }
        let placed = new.filter { written.contains($0.task) }
        for row in placed {
            if vacated.remove(row.path) != nil { try await noteSteps(.arrival, [row.task]) }
            try await bringBackOrphans(of: row.task, beside: row.path)
            // Attachments that were kept for a file which was missing for a while.
            guard let files = try? row.path.attachmentsDirectory(), (try? folder.hasDirectory(files)) == true else {
                continue
            }
            movedAttachmentDirectories.insert(files)
        }
        try await reviewAttachments(of: placed.map(\.task))
        try await remember(
            done.map { row in
                guard row.stamp == .none, let stamp = try? folder.stamp(row.path) else { return row }
                var row = row
                row.stamp = stamp
                return row
            })
    }

    /// Whether this replica wrote the file just before it was interrupted.
    private func isOwnWrite(_ write: FolderWrite) async throws -> Bool {
        guard let content = try? folder.read(write.path) else { return false }
        return content.bytes == write.bytes && (try? folder.identifier(write.path)) == write.mark?.task
    }

    func remember(_ rows: [FileRow]) async throws {
        guard !rows.isEmpty else { return }
        let now = configuration.wallClock()
        try await client.transaction { transaction in
            let tables = SyncTables(transaction)
            let undo = UndoSteps(transaction)
            var steps: [UndoStep] = []
            for row in rows {
                if let step = try tables.file(row.task).flatMap({ try undo.syncStep(from: $0, to: row) }) {
                    steps.append(step)
                }
                try tables.put(row)
            }
            try undo.add(steps, at: now)
            try tables.setAnnouncedMoves([])
        }
        for row in rows {
            index.set(row.path, FileIndex.Entry(task: row.task, stamp: row.stamp))
            unfinishedWrites[row.task] = nil
        }
    }
}

extension ReplicaTransaction {
    func task(_ id: TaskID) throws -> DocumentSnapshot {
        try document(DocumentName(task: id, in: databaseName))
    }
}

extension TaskFolder {
    /// Whether nothing exists at a path. A path that cannot be examined is not absent.
    func isAbsent(_ path: TaskPath) -> Bool {
        do throws(FolderError) { return try stamp(path) == nil } catch { return false }
    }

    /// Whether a path is that of a directory.
    func hasDirectory(_ path: TaskPath) throws(FolderError) -> Bool {
        do throws(FolderError) {
            _ = try stamp(path)
            return false
        } catch {
            guard error.code == .wrongKind else { throw error }
            return true
        }
    }
}
