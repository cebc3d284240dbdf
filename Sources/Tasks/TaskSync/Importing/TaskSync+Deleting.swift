import DocumentClient
import DocumentModel
import SystemIO
import SystemService
import TaskFolder
import TaskModel

/// Deletes: believed only when seen or when the whole directory was, and never more than the guard lets through.
extension TaskSync {
    /// Files that are gone for good, as far as the directory tells.
    func importRemovals(_ paths: [TaskPath]) async throws {
        guard try await checkRoot() else { return }
        var tasks: [String] = []
        var unwritten: [TaskPath] = []
        var attachments: [TaskPath] = []
        var obstructed: [TaskPath] = []
        let subjects = Set(paths.filter { folder.isAbsent($0) }.map(\.string))
        folderProblems = folderProblems.filter { !subjects.contains($0.value.subject ?? "") }
        for path in Set(paths) {
            if index[path] != nil, !subjects.contains(path.string) { obstructed.append(path) }
            problems[path.string] = nil
            if path.kind(isDirectory: false) == .attachment {
                attachments.append(path)
                continue
            }
            guard let entry = index[path], folder.isAbsent(path) else { continue }
            if entry.stamp == .none { unwritten.append(path) } else { tasks.append(entry.task) }
        }
        // A directory, say, is where a task's file was, which is not gone for that: reading it
        // reports what is in the way.
        try await importFiles(obstructed.filter { (try? folder.stamp($0)) == nil })
        // What this replica was cut off from writing was never there, so it has not been deleted either.
        try await forget(unwritten)
        // What has been deleted elsewhere is no delete of this machine's. The catalog may not know
        // it yet, nor a new task.
        var gone = try await client.reading { [tasks] transaction in
            try tasks.filter { try TaskIndexEntry(transaction.task($0)).claim == nil }
        }
        let missing = Set(gone.compactMap { index.path(of: $0) })
        let back = Set(try await takeBackFromTrash(missing).compactMap { index[$0]?.task })
        tasks.removeAll(where: back.contains)
        gone.removeAll(where: back.contains)
        if !gone.isEmpty { try await discardFiles(of: gone) }
        // What is empty under another name is read when it has been filled.
        tasks.removeAll { held[$0] != nil || gone.contains($0) || pathOfUnfilled($0) != nil }
        tasks = try await withoutUnseen(withoutCopied(tasks))
        try await removeFiles(of: tasks)
        // What went with a task whose delete is held waits with it.
        try await attachmentsRemoved(attachments)
    }

    /// Deletes tasks whose files are gone, or holds that.
    private func removeFiles(of tasks: [String]) async throws {
        guard !tasks.isEmpty else { return }
        if deleteGuard.holds(
            tasks.count, following: changes.missingCount, of: index.count, at: environment.now() - start)
        {
            try await hold(tasks)
        } else {
            // As with imports: what others are told to delete must not be back on this disk after a power cut.
            folder.synchronize(tasks.compactMap { index.path(of: $0) })
            try await noteDeleted(tasks)
            try await delete(tasks)
        }
    }

    /// Those whose documents say no more than their files did. The others have been changed
    /// elsewhere since, which whoever deleted the file could not see: an edit survives a delete, so
    /// they get files again.
    func withoutUnseen(_ tasks: [String]) async throws -> [String] {
        let unseen = try await client.reading { transaction in
            try tasks.filter { task in
                guard let row = try SyncTables(transaction).file(task) else { return false }
                return FileExport.isBehind(row, try transaction.task(task))
            }
        }
        if !unseen.isEmpty {
            logger.info("deleted before a change of theirs was seen, and kept: \(unseen.joined(separator: " "))")
            try await discardFiles(of: unseen)
            retries.formUnion(unseen)
        }
        return tasks.filter { !unseen.contains($0) }
    }

    /// The tasks have no files here any more; what is left of their attachments goes to the local trash.
    private func discardFiles(of tasks: [String]) async throws {
        let files = try await files(of: tasks)
        // Back after a power cut, they would be new tasks.
        folder.synchronize(files.map(\.path))
        try await trashAttachments(beside: files)
        try await forgetFiles(of: tasks)
    }

    private func hold(_ tasks: [String]) async throws {
        let since = configuration.wallClock()
        try await client.transaction { transaction in
            let tables = SyncTables(transaction)
            for task in tasks { try tables.hold(task, since: since) }
        }
        for task in tasks { held[task] = since }
    }

    /// Moves tasks whose files are gone to the trash; what is left of their attachments goes to the local trash.
    func delete(_ tasks: [String]) async throws {
        let files = try await files(of: tasks)
        for task in tasks { index.remove(task: task) }
        try await trashAttachments(beside: files)
        let unseen = try await client.transaction { transaction in
            let tables = SyncTables(transaction)
            var unseen: [String] = []
            for task in tasks {
                // As in `withoutUnseen`: what has come since.
                if let row = try tables.file(task), FileExport.isBehind(row, try transaction.task(task)) {
                    unseen.append(task)
                } else {
                    try Self.trash(task, in: transaction)
                }
                try tables.removeFile(task)
                try tables.unhold(task)
                try tables.removeAttachments(of: task)
            }
            return unseen
        }
        for task in tasks {
            held[task] = nil
            unfilled[task] = nil
            problems[Self.emptiedKey(task)] = nil
            attachments.removeAll(of: task)
            await endPointless(transfers.current(of: task).filter(\.isUpload))
        }
        retries.formUnion(unseen)
        retries.formUnion(misnamed)
    }

    /// Where the files of tasks were last, with their attachments: what moved, and was not read
    /// there, has its old path in the table.
    private func files(of tasks: [String]) async throws -> [(task: String, path: TaskPath)] {
        let noted = try await client.reading { transaction in
            try tasks.compactMap { task in try SyncTables(transaction).file(task).map { (task: task, path: $0.path) } }
        }
        return noted.map { ($0.task, index.path(of: $0.task) ?? $0.path) }
    }

    /// To be called before the tasks are forgotten: once they are, nothing tells after a crash
    /// whose the attachments were.
    private func trashAttachments(beside files: [(task: String, path: TaskPath)]) async throws {
        for (task, path) in files {
            do {
                _ = try await trashBeside(task, path)
            } catch is FolderError {
                // What could not be taken away is of the task that has the name now, or will have it.
                if let directory = try? path.attachmentsDirectory() { movedAttachmentDirectories.insert(directory) }
            }
        }
    }

    /// Moves tasks to the trash; the export takes their files away.
    func trashDocuments(_ tasks: [String]) async throws {
        try await client.transaction { transaction in
            for task in tasks { try Self.trash(task, in: transaction) }
        }
    }

    static func trash(_ task: String, in transaction: ReplicaTransaction) throws {
        let name = try DocumentName(database: transaction.databaseName, collection: "tasks", id: task)
        let view = try transaction.document(name)
        guard view.exists, view["deletedTime"] == nil else { return }
        try transaction.append(
            Mutation(
                .merge, name,
                transforms: ["deletedTime", "updatedTime"].map { FieldTransform(FieldPath(key: $0), .serverTimestamp) }
            ).signed(by: transaction.replicaID))
    }

    // MARK: Held deletes

    /// Deletes, and files that went back to older versions, that wait for approval; by title.
    package var heldDeletes: [(entry: TaskCatalog.Entry, since: Int64, isRevert: Bool)] {
        let deletes = held.compactMap { task, since in catalog[task].map { ($0, since, false) } }
        let reverts = (isReviewingReverts ? [:] : reverted).compactMap { task, since in
            index.path(of: task) == nil ? nil : catalog[task].map { ($0, since, true) }
        }
        return (deletes + reverts).sorted { $0.0.title < $1.0.title }
    }

    /// Sends held deletes and reverts.
    package func approveDeletes(_ tasks: [String]) async throws {
        try await withExclusiveAccess {
            try await sendReverts(tasks.filter { reverted[$0] != nil })
            let approved = tasks.filter { held[$0] != nil }
            try await delete(approved)
            if held.isEmpty { deleteGuard.settle() }
            try await exportChanges()
        }
    }

    /// Brings the files of held deletes back, and those of held reverts to what their tasks are.
    package func restoreDeletes(_ tasks: [String]) async throws {
        try await withExclusiveAccess {
            try await undoReverts(tasks.filter { reverted[$0] != nil })
            let restored = tasks.filter { held[$0] != nil }
            try await trashRenamedAttachments(of: restored)
            try await client.transaction { transaction in
                let tables = SyncTables(transaction)
                for task in restored {
                    try tables.unhold(task)
                    try tables.removeFile(task)
                }
            }
            for task in restored {
                held[task] = nil
                index.remove(task: task)
            }
            retries.formUnion(restored)
            retries.formUnion(misnamed)
            if held.isEmpty { deleteGuard.settle() }
            try await exportRetries()
        }
    }

    /// What is beside files whose deletes were held, and which come back under other names, is fetched again with them.
    func trashRenamedAttachments(of tasks: [String]) async throws {
        let renamed = tasks.filter { task in
            guard let path = index.path(of: task), let claim = names.claim(of: task) else { return false }
            return (try? rightPath(of: task, in: lists.path(claim.place) ?? .root)) != path
        }
        try await trashAttachments(beside: renamed.compactMap { task in index.path(of: task).map { (task, $0) } })
    }

    /// Files are back that were away for a while: of their attachments those that went meanwhile
    /// are fetched again, and those that were detached are taken away.
    func reviewAttachments(of tasks: [String]) async throws {
        let rows = tasks.flatMap { attachments.rows(of: $0).values }
        retries.formUnion(rows.map(\.task))
        let absent = rows.filter { path(of: $0).map { folder.isAbsent($0) } ?? true }
        guard !absent.isEmpty else { return }
        try await client.transaction { transaction in
            for row in absent { try SyncTables(transaction).remove(attachment: row.attachment, of: row.task) }
        }
        for row in absent { attachments.remove(row.attachment, of: row.task) }
    }
}
