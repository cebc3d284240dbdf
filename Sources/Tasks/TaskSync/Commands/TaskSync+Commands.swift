import DocumentClient
import DocumentModel
import SQLite
import TaskFolder
package import TaskModel

/// Executes the commands of users on tasks. Each goes into the journal, and the file is written in
/// the same turn.
extension TaskSync {
    /// The details of a task for `ferry show`.
    package struct Detail: Sendable {
        package let entry: TaskCatalog.Entry
        package let item: TaskItem
        /// The path of its file relative to the tasks directory; nil if there is none.
        package let path: String?
        /// The paths of its attachments' files relative to the tasks directory, by attachment id.
        /// Files that are not here are missing.
        package let attachmentPaths: [AttachmentID: String]
        package let remarks: [String]
        /// Whether its attachments are kept here regardless of their sizes.
        package let isPinned: Bool
        /// The part of the task's file before its notes.
        package let head: String
    }

    package func detail(_ id: TaskID) async throws -> Detail {
        guard let entry = catalog[id] else { throw TaskSyncError(.notFound, "There is no task \(id).") }
        let view = try await client.document(try await name(of: id))
        let fields = view.fields(pendingTimes: .previous)
        let item = TaskItem(fields: fields)
        let name = index.path(of: id)?.name ?? TaskFileName.file(for: item.title).name
        let file = try? TaskLayout.file(for: item, fields, named: name, instead: nil)
        let rows = attachments.rows(of: id)
        let paths = rows.compactMapValues { row in path(of: row)?.string }
        var remarks = item.misunderstoodKeys(in: configuration.vocabulary).map {
            "The value of '\($0)' is not understood; it is kept and travels as it is."
        }
        remarks += item.nearKeys(in: configuration.vocabulary).map {
            "'\($0.key)' is a field of its own; what Ferry reads is written '\($0.known)'."
        }
        if let path = index.path(of: id), let problem = problems[path.string] { remarks.append(problem.message) }
        if entry.isParked {
            let told = problems["parked \(id)"]?.message
            remarks.append(told ?? "The remote refuses a change of this task; it is kept here.")
        }
        return Detail(
            entry: entry, item: item, path: index.path(of: id)?.string, attachmentPaths: paths, remarks: remarks,
            isPinned: pinned.contains(id), head: file.map { String(decoding: $0.head, as: UTF8.self) } ?? "")
    }

    /// Returns the living tasks that have known keys with invalid values, in order of their titles.
    package func misunderstoodValues() async throws -> [(task: TaskID, title: String, keys: [String])] {
        return try await client.reading { [vocabulary = configuration.vocabulary] transaction in
            try transaction.documents(Self.localQueries(in: transaction.databaseName).tasks).compactMap {
                document in
                let item = TaskItem(fields: document.fields(pendingTimes: .previous))
                let keys = item.misunderstoodKeys(in: vocabulary)
                guard !item.isDeleted, !keys.isEmpty else { return nil }
                return (document.name.task, item.title, keys)
            }.sorted { ($0.1, $0.0) < ($1.1, $1.0) }
        }
    }

    /// Returns the moments of all tasks that remind their users, by id, with a number of their
    /// version; nil if that is still the given one.
    package func reminders(after version: UInt64?) -> (version: UInt64, tasks: [TaskID: TaskReminders])? {
        guard version != catalog.remindersVersion else { return nil }
        return (catalog.remindersVersion, catalog.reminders)
    }

    /// Returns the path of a task's file relative to the tasks directory.
    package func path(ofTask id: TaskID) -> String? { index.path(of: id)?.string }

    /// Returns the task whose file is at a path relative to the tasks directory.
    package func task(atPath path: String) -> TaskID? { (try? TaskPath(path)).flatMap { index[$0]?.task } }

    /// Creates tasks in one transaction.
    ///
    /// A task with an `importKey` that was added before, also by an earlier one of these edits, is
    /// not created again and gets the error `exists`; one in the trash counts.
    ///
    /// - Returns: The id of each task, or the error that prevented it, in order.
    /// - Throws: An error that prevents all of them.
    package func add(_ edits: [TaskEdit]) async throws -> [Result<TaskID, any Error>] {
        let parsed = edits.map { edit in Result { try edit.newTask(in: configuration.vocabulary) } }
        return try await withExclusiveAccess {
            try requireRoot()
            var present = try await whyPresent(edits.compactMap(\.importKey).map(importedID))
            var new: [(id: TaskID, contents: FileImport.FileContents)] = []
            var results: [Result<TaskID, any Error>] = []
            for (edit, parsed) in zip(edits, parsed) {
                do {
                    var (item, file) = try parsed.get()
                    let id = edit.importKey.map(importedID) ?? TaskID(DocumentID.make(in: environment))
                    if let error = present[id] { throw error }
                    if !edit.isTrial {
                        item.listId = try await list(named: edit.listName ?? "")
                        let contents = file.map { FileImport.FileContents(item, lookingLike: $0, named: $0.name) }
                        new.append((id, contents ?? FileImport.FileContents(item)))
                    }
                    present[id] = Self.addedBefore
                    results.append(.success(id))
                } catch let error where !(error is SQLiteError) && !(error is CancellationError) {
                    results.append(.failure(error))
                }
            }
            guard !new.isEmpty else { return results }
            let (tasks, userID, hosts, now) = (new, configuration.userID, hosts, configuration.wallClock())
            let today = today
            try await client.transaction { transaction in
                for task in tasks {
                    let name = try DocumentName(task: task.id, in: transaction.databaseName)
                    let engine = FileImport(
                        name: name, userID: userID, hosts: hosts, replica: transaction.replica, today: today)
                    try transaction.append(engine.creation(task.contents))
                }
                try UndoSteps(transaction).add(tasks.map { UndoStep(.add, $0.id, after: $0.contents.item) }, at: now)
            }
            try await exportChanges()
            return results
        }
    }

    /// Returns the id of the task that is added with an `importKey`, which is the same on all
    /// machines of the account.
    package nonisolated func importedID(_ key: String) -> TaskID {
        TaskID(DocumentID.derived(from: "ferry import\n\(configuration.userID)\n\(key)"))
    }

    /// Returns the errors of those of the tasks that exist or are in the trash.
    private func whyPresent(_ ids: [TaskID]) async throws -> [TaskID: TaskSyncError] {
        guard !ids.isEmpty else { return [:] }
        return try await client.reading { transaction in
            var errors: [TaskID: TaskSyncError] = [:]
            for id in ids {
                let view = try transaction.task(id)
                guard view.exists else { continue }
                let isTrashed =
                    TaskItem(fields: view.fields(pendingTimes: .previous)).isDeleted || FileExport.isBeingDeleted(view)
                errors[id] =
                    isTrashed
                    ? TaskSyncError(
                        .exists, "It was added before and is in the trash; 'ferry restore \(id)' brings it back.")
                    : Self.addedBefore
            }
            return errors
        }
    }

    private static let addedBefore = TaskSyncError(.exists, "It was added before.")

    /// Changes a task. If its file was changed as well, that is read first, so that neither change
    /// is lost.
    package func edit(_ id: TaskID, _ edit: TaskEdit) async throws {
        try await withExclusiveAccess {
            try await readFirst(id)
            var list: ListID?
            if let name = edit.listName { list = try await self.list(named: name) }
            let (target, vocabulary) = (list, configuration.vocabulary)
            try await change(id, as: .edit, archiving: edit.archivesOccurrence) { item in
                var item = try edit.applied(to: item, in: vocabulary)
                if edit.listName != nil { item.listId = target }
                return item
            }
            try await exportChanges()
        }
    }

    /// Moves tasks to the trash.
    package func remove(_ ids: [TaskID]) async throws {
        try await withExclusiveAccess {
            for id in ids {
                guard catalog[id] != nil else { throw TaskSyncError(.notFound, "There is no task \(id).") }
                try await readFirst(id)
            }
            try await trashDocuments(ids)
            try await noteSteps(.remove, ids)
            try await exportChanges()
        }
    }

    /// Restores tasks from the trash.
    package func restore(_ ids: [TaskID]) async throws {
        try await withExclusiveAccess {
            try requireRoot()
            for id in ids {
                guard catalog[id] != nil else { throw TaskSyncError(.notFound, "There is no task \(id).") }
                try await change(id) { item in
                    var item = item
                    item.deletedTime = nil
                    return item
                }
            }
            try await noteSteps(.restore, ids)
            try await exportChanges()
        }
    }

    /// Scans the whole directory and exports the waiting changes.
    package func rescanNow() async throws {
        try await withExclusiveAccess {
            guard try await checkRoot() else { return }
            try await rescan(isFirst: false)
            try await exportChanges()
        }
    }

    /// Whether the directory was imported at the first start, every change of a document is in its
    /// file, every missing file counts as deleted, and no transfer is in flight.
    package func isSettled() async throws -> Bool {
        guard isSynced, changes.hasToldRemovals, !isReviewingReverts, replacements.isEmpty else { return false }
        guard try await pendingExports() == 0, retries.isEmpty, retriedLists.isEmpty else { return false }
        return parents.isEmpty && transfers.isSettled
    }

    /// Returns the number of changes of documents that are not in files yet.
    package func pendingExports() async throws -> Int {
        try await client.reading { try $0.changes(for: Self.consumer, limit: 1000).count }
    }

    // MARK: Parts

    /// Imports a task's file before a command changes the task. That may show that the directory is
    /// missing.
    func readFirst(_ id: TaskID) async throws {
        try requireRoot()
        try await importFile(of: id)
        try requireRoot()
    }

    func requireRoot() throws {
        if let rootHold { throw TaskSyncError(.held, rootHold.message) }
    }

    func name(of id: TaskID) async throws -> DocumentName {
        let database = try await client.reading { $0.databaseName }
        return try DocumentName(task: id, in: database)
    }

    /// Changes a task.
    ///
    /// - Parameters:
    ///   - kind: The kind of the step with which the change can be undone; nil for none.
    ///   - archives: Whether an occurrence that the change completes is kept as a task of its own,
    ///     also if the task does not say so.
    func change(
        _ id: TaskID, as kind: UndoStep.Kind? = nil, archiving archives: Bool = false,
        _ body: @escaping @Sendable (TaskItem) throws -> TaskItem
    ) async throws {
        let (userID, hosts, now, today) = (configuration.userID, hosts, configuration.wallClock(), today)
        try await client.transaction { transaction in
            let name = try DocumentName(task: id, in: transaction.databaseName)
            let view = try transaction.document(name)
            guard view.exists else { throw TaskSyncError(.notFound, "There is no task \(id).") }
            var old = TaskItem(fields: view.fields(pendingTimes: .previous))
            // A delete counts even if its time is still to be set by the server.
            if FileExport.isBeingDeleted(view) { old.deletedTime = .distantPast }
            let engine = FileImport(
                name: name, userID: userID, hosts: hosts, replica: transaction.replica, today: today)
            let new = engine.owned(try body(old), insteadOf: old)
            let diff = TaskDiff(from: old, to: new)
            guard !diff.isEmpty else { return }
            try transaction.append(engine.mutation(diff, .merge))
            let steps = try Self.archiveOccurrence(completedBy: new, in: old, always: archives, engine, transaction)
            if let kind {
                try UndoSteps(transaction).add([UndoStep(kind, id, before: old, after: new)] + steps, at: now)
            }
        }
    }

    /// Returns those of the tasks whose notes pass a test. Each is read from the state file.
    package func tasks(
        _ ids: [TaskID], withNotes isMeant: @escaping @Sendable (_ id: TaskID, _ notes: String) -> Bool
    ) async throws -> Set<TaskID> {
        var found = Set<TaskID>()
        var rest = ids[...]
        while !rest.isEmpty {
            // Other transactions can run between two pages.
            let page = rest.prefix(200)
            rest = rest.dropFirst(page.count)
            found.formUnion(
                try await client.reading { transaction in
                    try page.filter { id in
                        isMeant(id, try transaction.task(id).fields["notes"]?.stringValue ?? "")
                    }
                })
        }
        return found
    }

    /// Returns the list with a name, which is created if there is none; nil for the default list.
    private func list(named name: String) async throws -> ListID? {
        guard !name.isEmpty else { return nil }
        let known = catalog.listNames.filter { $0.value.lowercased() == name.lowercased() }
        if let exact = known.first(where: { UTF8Order.areEqual($0.value, name) }) ?? known.first { return exact.key }
        let path = try ListIndex.directory(named: name) { _ in false }
        try folder.makeDirectory(path)
        return try await list(at: path)
    }
}
