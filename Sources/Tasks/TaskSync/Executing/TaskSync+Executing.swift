import DocumentClient
import DocumentModel
import Reconciliation
import SystemIO
import TaskFolder
import TaskModel

/// Performs the plans of the planner for tasks whose files or documents are gone. All other files
/// and documents are decided where they are read and written.
extension TaskSync {
    /// The operations of a plan by their effects, so that each effect is one transaction for all tasks.
    private struct Effects {
        var held: [(task: TaskID, change: HeldChange)] = []
        /// The tasks whose files are gone, with the versions of their documents that are to be
        /// trashed.
        var trashed: [(task: TaskID, version: Timestamp?)] = []
        var restored: [TaskID] = []
        /// The files that are removed. Those that are written again keep their attachments.
        var removed: [(task: TaskID, stamp: Stamp, isWritten: Bool)] = []
        /// The tasks whose changes are no longer held, whatever else happens to them.
        var released: Set<TaskID> = []

        init(_ plan: Reconciliation.Plan) {
            for operation in plan.operations {
                guard case .task(let task) = operation.node else { continue }
                switch (operation.action, operation.expectation) {
                case (.hold(let change), _): held.append((task, change))
                case (.release, _): released.insert(task)
                case (.trashDocument, .version(let version)): trashed.append((task, version))
                case (.record, _) where operation.row == nil: trashed.append((task, nil))
                case (.trashFile, .stamp(let stamp)): removed.append((task, stamp, false))
                case (.writeFile, .stamp(let stamp)): removed.append((task, stamp, true))
                case (.createFile, _): restored.append(task)
                default: break
                }
            }
        }
    }

    /// Performs a plan, and remembers the reasons of the tasks for which something is still to be
    /// done.
    ///
    /// - Returns: The tasks whose documents have changed, and the files that have changed. Nothing
    ///   was done to them.
    func perform(_ plan: Reconciliation.Plan) async throws -> (tasks: Set<TaskID>, files: [TaskPath]) {
        let effects = Effects(plan)
        try await hold(effects.held)
        let failed = try await trash(effects.trashed)
        let changed = try await trashFiles(effects.removed)
        try await restoreFiles(of: effects.restored)
        try await release(effects.released.filter { held[$0] != nil && !failed.contains($0) })
        try await forgetReverts(effects.released.sorted())
        for (node, reason) in plan.reasons where reason != .heldForReview(.revert) {
            guard case .task(let task) = node, !failed.contains(task) else { continue }
            waiting[task] = reason == .inProgress ? nil : reason
        }
        return (failed, changed)
    }

    private func hold(_ changes: [(task: TaskID, change: HeldChange)]) async throws {
        let deletes = changes.filter { $0.change == .delete }.map(\.task)
        let reverts = changes.filter { $0.change == .revert && reverted[$0.task] == nil }.map(\.task)
        guard !deletes.isEmpty || !reverts.isEmpty else { return }
        let since = configuration.wallClock()
        try await client.transaction { transaction in
            for task in deletes { try SyncTables(transaction).hold(task, since: since) }
            for task in reverts { try SyncTables(transaction).setReverted(task, since: since) }
        }
        for task in deletes { held[task] = since }
        for task in reverts { reverted[task] = since }
    }

    private func release(_ tasks: Set<TaskID>) async throws {
        guard !tasks.isEmpty else { return }
        try await client.transaction { transaction in
            for task in tasks { try SyncTables(transaction).unhold(task) }
        }
        for task in tasks { held[task] = nil }
    }

    /// Moves the documents of tasks whose files are gone to the trash, and the rest of their
    /// attachments to the local trash. Tasks that have no documents any more are forgotten.
    ///
    /// - Returns: The tasks whose documents have another version.
    private func trash(_ nodes: [(task: TaskID, version: Timestamp?)]) async throws -> Set<TaskID> {
        guard !nodes.isEmpty else { return [] }
        let tasks = nodes.map(\.task)
        let files = try await files(of: tasks)
        // After a power cut this disk must not contain files that other machines were told to
        // delete: they would count as new tasks.
        folder.synchronize(files.map(\.path))
        // If another file has the name now, no later file can continue the task under it.
        let left = nodes.filter { node in
            node.version != nil && held[node.task] == nil && index.path(of: node.task).map(folder.isAbsent) == true
        }
        try await noteDeleted(left.map(\.task))
        try await trashAttachments(beside: files)
        let changed = try await client.transaction { transaction in
            let tables = SyncTables(transaction)
            var changed: Set<TaskID> = []
            for (task, version) in nodes {
                if let version {
                    guard RemoteTreeReader.version(of: try transaction.task(task)) == version else {
                        changed.insert(task)
                        continue
                    }
                    try Self.trash(task, in: transaction)
                }
                try tables.forget(task)
            }
            return changed
        }
        await forgetInMemory(tasks.filter { !changed.contains($0) })
        return changed
    }

    /// Moves files to the local trash. Those that are not written again take their attachments
    /// along.
    ///
    /// - Returns: The files that have changed. One that is gone may have moved, which is an edit.
    private func trashFiles(_ nodes: [(task: TaskID, stamp: Stamp, isWritten: Bool)]) async throws -> [TaskPath] {
        guard !nodes.isEmpty else { return [] }
        let paths = try await client.reading { transaction in
            try nodes.map { try SyncTables(transaction).file($0.task)?.path }
        }
        var changed: [TaskPath] = []
        var trashed: [(task: TaskID, path: TaskPath)] = []
        for case (let node, let path?) in zip(nodes, paths) {
            do {
                let file = TrashItem(path: path, expecting: .stamp(FileStamp(node.stamp)))
                switch node.isWritten ? try folder.trash([file]) : try await trashBeside(node.task, path, with: file) {
                case .trashed where node.isWritten: try await restoreFiles(of: [node.task])
                case .trashed: trashed.append((node.task, path))
                case .changed(let path, .some): changed.append(path)
                case .changed(_, nil), nil: isMissing(node.task, at: path)
                }
            } catch let error as FolderError where error.code == .notFound {
                isMissing(node.task, at: path)
            } catch let error as FolderError {
                noteExport(node.task, at: path, error)
            }
        }
        try await forgetFiles(of: trashed.map(\.task))
        for file in trashed { removeIfEmpty(file.path.parent) }
        return changed
    }

    /// Lets the export write the files of tasks again, with the names that it allocates. If a file
    /// gets another name, its attachments are downloaded again.
    private func restoreFiles(of tasks: [TaskID]) async throws {
        guard !tasks.isEmpty else { return }
        let (views, rows) = try await client.reading { transaction in
            (try tasks.map { try transaction.task($0) }, try tasks.compactMap { try SyncTables(transaction).file($0) })
        }
        for view in views { learn(TaskIndexEntry(view, in: configuration.reading)) }
        // If they came back after a power cut, they would count as new tasks.
        folder.synchronize(rows.map(\.path))
        let renamed = tasks.compactMap { task -> (task: TaskID, path: TaskPath)? in
            guard let path = index.path(of: task), let request = names.request(of: task),
                (try? rightPath(of: task, in: request.place.flatMap { lists.path($0) } ?? .root)) != path
            else { return nil }
            return (task, path)
        }
        try await trashAttachments(beside: renamed)
        try await client.transaction { transaction in
            for task in tasks {
                try SyncTables(transaction).unhold(task)
                try SyncTables(transaction).removeFile(task)
            }
        }
        for task in tasks {
            held[task] = nil
            waiting[task] = nil
            index.remove(task: task)
        }
        retries.formUnion(tasks)
        retries.formUnion(misnamed)
    }

    // MARK: Files and attachments

    /// Forgets the files of tasks.
    func forgetFiles(of tasks: [TaskID]) async throws {
        try await client.transaction { transaction in
            for task in tasks { try SyncTables(transaction).forget(task) }
        }
        await forgetInMemory(tasks)
    }

    private func forgetInMemory(_ tasks: [TaskID]) async {
        for task in tasks {
            index.remove(task: task)
            attachments.removeAll(of: task)
            held[task] = nil
            waiting[task] = nil
            unfilled[task] = nil
            problems[Self.emptiedKey(task)] = nil
            await endPointless(transfers.current(of: task).filter(\.isUpload))
        }
        retries.formUnion(misnamed)
    }

    /// Returns the last paths of tasks' files and attachments. The table has the old path of a file
    /// that has moved and was not read there.
    private func files(of tasks: [TaskID]) async throws -> [(task: TaskID, path: TaskPath)] {
        let noted = try await client.reading { transaction in
            try tasks.compactMap { task in try SyncTables(transaction).file(task).map { (task: task, path: $0.path) } }
        }
        return noted.map { ($0.task, index.path(of: $0.task) ?? $0.path) }
    }

    /// Moves the attachments of files to the local trash. It must be called before the tasks are
    /// forgotten: after a crash nothing else tells to which tasks they belonged.
    private func trashAttachments(beside files: [(task: TaskID, path: TaskPath)]) async throws {
        for (task, path) in files {
            do {
                _ = try await trashBeside(task, path)
            } catch is FolderError {
                // Files that could not be moved belong to the task that has the name now, or will
                // get it.
                if let directory = try? path.attachmentsDirectory() { movedAttachmentDirectories.insert(directory) }
            }
        }
    }

    /// Moves tasks to the trash; the export removes their files.
    func trashDocuments(_ tasks: [TaskID]) async throws {
        try await client.transaction { transaction in
            for task in tasks { try Self.trash(task, in: transaction) }
        }
    }

    static func trash(_ task: TaskID, in transaction: ReplicaTransaction) throws {
        let name = try DocumentName(task: task, in: transaction.databaseName)
        let view = try transaction.document(name)
        guard view.exists, view["deletedTime"] == nil else { return }
        try transaction.append(
            Mutation(
                .merge, name,
                transforms: ["deletedTime", "updatedTime"].map { FieldTransform(FieldPath(key: $0), .serverTimestamp) }
            ).signed(by: transaction.replica))
    }

    /// Brings the attachments of files in step that are back after a while: those that are gone are
    /// downloaded again, and those that were detached are removed.
    func reviewAttachments(of tasks: [TaskID]) async throws {
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

extension SyncTables {
    /// Forgets the file of a task.
    fileprivate func forget(_ task: TaskID) throws {
        try removeFile(task)
        try unhold(task)
        try removeAttachments(of: task)
    }
}
