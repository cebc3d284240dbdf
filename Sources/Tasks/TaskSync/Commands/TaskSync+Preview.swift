import DocumentClient
import DocumentModel
import Reconciliation
import SystemIO
import TaskFolder
import TaskModel

/// Previews a sync without changing anything on either side or in the state file.
extension TaskSync {
    /// Returns the steps of a sync: first those that send changes, then those that write files.
    /// Changes that this machine has not received yet are not included.
    package func preview() async throws -> [SyncStep] {
        var steps = try await withExclusiveAccess { Self.united(try await journalSteps() + folderSteps()) }
        steps += heldDeletes.map {
            SyncStep(.hold, subject(of: $0.entry.id), task: $0.entry.id, "waits for 'ferry deletes'")
        }
        var tasks = try await client.reading { transaction in
            try transaction.changes(for: Self.consumer, limit: .max).map(\.name).filter { $0.collectionPath == "tasks" }
                .map(\.task)
        }
        tasks = Set(tasks).union(retries).subtracting(held.keys).sorted()
        for start in stride(from: 0, to: tasks.count, by: Self.batchSize) {
            let batch = Array(tasks[start..<min(start + Self.batchSize, tasks.count)])
            steps += try await withExclusiveAccess { try await documentSteps(batch) }
        }
        for transfer in transfers.all where !transfer.isUpload && !transfer.phase.isOver {
            let path = filePath(of: transfer)?.string ?? transfer.name
            steps.append(SyncStep(.download, path, task: transfer.task, size: transfer.size))
        }
        return steps
    }

    private func subject(of task: TaskID) -> String {
        index.path(of: task)?.string ?? catalog[task]?.title ?? task.rawValue
    }

    // MARK: From here

    /// Returns the steps with at most one of each kind for a task: some of the user's changes may
    /// be in the journal and others not.
    private static func united(_ steps: [SyncStep]) -> [SyncStep] {
        var united: [SyncStep] = []
        var places: [String: Int] = [:]
        for step in steps {
            let key = "\(step.action) \(step.task?.rawValue ?? step.subject) \(step.size == nil ? "" : step.subject)"
            guard let place = places[key] else {
                places[key] = united.count
                united.append(step)
                continue
            }
            united[place].fields += step.fields.filter { !united[place].fields.contains($0) }
        }
        return united
    }

    /// Returns the steps for changes in the journal that were not sent yet.
    private func journalSteps() async throws -> [SyncStep] {
        let steps = try await client.pendingMutations().compactMap(step)
        let deleted = Set(steps.filter { $0.action == .delete }.map(\.task))
        return steps.filter { $0.action != .send || $0.task == nil || !deleted.contains($0.task) }
    }

    private func step(of pending: PendingMutation) -> SyncStep? {
        let mutation = pending.mutation
        switch mutation.name.collectionPath {
        case "lists":
            let name = catalog.listNames[mutation.name.list] ?? mutation.name.id
            return SyncStep(mutation.kind == .delete ? .delete : .send, name, "list")
        case "tasks":
            let task = mutation.name.task
            let subject = subject(of: task)
            if let why = pending.parkedReason {
                return SyncStep(.leave, subject, task: task, "the server refuses it: \(why)")
            }
            if mutation.kind == .create { return SyncStep(.send, subject, task: task, "new task") }
            if mutation.kind == .delete || mutation.transforms.contains(where: { $0.path.segments == ["deletedTime"] })
            {
                return SyncStep(.delete, subject, task: task, "to the trash")
            }
            return SyncStep(.send, subject, task: task, fields: mutation.mask.filter(TaskOrigin.isTold))
        default: return nil
        }
    }

    /// Returns the steps for differences between the directory and its last known state.
    private func folderSteps() async throws -> [SyncStep] {
        guard rootHold == nil, try await checkRoot() else { return [] }
        var changed: [ScannedFile] = []
        var attached: [ScannedFile] = []
        var steps: [SyncStep] = []
        var call = index.rollCall
        let scan = try folder.scan(.look) { file in
            if file.isAttachment { return attached.append(file) }
            let known = index.entry(file.path, seenIn: &call)
            if known.map({ $0.stamp != file.stamp }) ?? true { changed.append(file) }
        }
        guard scan.isSameRoot else { return [] }
        let isHiding = isHiding(in: scan)
        var missing = Set(isHiding ? [] : index.paths(notSeenIn: call).filter(scan.sees))
        for file in changed.sorted(by: { $0.path < $1.path }) {
            if let step = try await fileStep(file, &missing) { steps.append(step) }
        }
        let sent = Set(steps.lazy.filter { $0.action == .send }.map(\.subject))
        steps += attached.compactMap { attachmentStep($0, besideOneOf: sent) }
        let gone = missing.sorted().compactMap { path in
            index[path].flatMap { held[$0.task] == nil && catalog[$0.task]?.deletion == nil ? (path, $0.task) : nil }
        }
        let plan = try await plan(
            Dictionary(gone.map { ($0.1, .absent) }) { first, _ in first },
            recentDeletes.recent(at: environment.now() - start, following: 0))
        let actions = Dictionary(plan.operations.map { ($0.node, $0.action) }) { first, _ in first }
        steps += gone.compactMap { path, task in
            switch actions[.task(task)] {
            case .hold: SyncStep(.hold, path.string, task: task, "one of too many")
            case .trashDocument: SyncStep(.delete, path.string, task: task, "its file is gone")
            // A file that will be written again is among the steps from the server.
            default: nil
            }
        }
        let present = Set(attached.map(\.path))
        for row in attachments.all {
            guard let path = path(of: row), !present.contains(path), scan.sees(path), !isHiding,
                !gone.contains(where: { $0.1 == row.task })
            else { continue }
            steps.append(SyncStep(.delete, path.string, task: row.task, "its file is gone"))
        }
        return steps
    }

    /// Returns the step for an attachment's file.
    ///
    /// - Parameter news: The paths of the tasks' files that are sent, including new ones.
    private func attachmentStep(_ file: ScannedFile, besideOneOf news: Set<String>) -> SyncStep? {
        let path = file.path.string
        guard let task = index[file.path.taskFileOfAttachments]?.task else {
            let isNew = news.contains(file.path.taskFileOfAttachments.string)
            return SyncStep(
                isNew ? .upload : .leave, path, isNew ? "new" : "belongs to no task", size: file.stamp.size)
        }
        let row = attachments.row(of: task, named: file.path.name)
        if let row, row.stamp == file.stamp { return nil }
        if row == nil, Self.isPartial(file.path.name),
            !attachedPartials.contains(Self.partialKey(task, file.path.name))
        {
            return SyncStep(.leave, path, task: task, "unfinished, by its name", size: file.stamp.size)
        }
        return SyncStep(.upload, path, task: task, row == nil ? "new" : "changed", size: file.stamp.size)
    }

    /// Returns the step for a task's file.
    ///
    /// - Parameter missing: The known files that were not found. If this is one of them with a new
    ///   name, it is removed.
    private func fileStep(_ file: ScannedFile, _ missing: inout Set<TaskPath>) async throws -> SyncStep? {
        let path = file.path
        let parsed: TaskFile
        do {
            parsed = try TaskFile(parsing: try folder.read(path).bytes, named: path.name)
        } catch let error as FolderError {
            return error.code == .notFound ? nil : SyncStep(.leave, path.string, error.message)
        } catch let error as TaskFileProblem {
            return SyncStep(.leave, path.string, task: index[path]?.task, error.description)
        }
        let identifier = folder.taskID(of: path)
        let sameInode = index.path(withInodeOf: file.stamp).flatMap { index[$0] }
            .flatMap { isSame(file.stamp, as: $0, identifier) ? $0.task : nil }
        let old = (sameInode ?? identifier).flatMap { index.path(of: $0) }
        let from = index[path] == nil ? old.flatMap { missing.contains($0) ? $0 : nil } : path
        guard let from, let task = index[from]?.task else { return SyncStep(.send, path.string, "new task") }
        missing.remove(from)
        let list = from.parent == path.parent ? nil : lists.id(path.parent)
        let (userID, hosts, isMoved) = (configuration.userID, hosts, from.parent != path.parent)
        let today = today
        let fields = try await client.reading { transaction -> [FieldPath] in
            let name = try DocumentName(task: task, in: transaction.databaseName)
            guard let row = try SyncTables(transaction).file(task),
                let shadowFile = try? TaskFile(parsing: row.bytes, named: row.path.name)
            else { return [] }
            var shadow = FileImport.FileContents(shadowFile, named: row.path.name)
            let view = try transaction.document(name)
            let renamed = TaskLayout.titled(parsed, after: shadowFile, view.fields)
            var contents = FileImport.FileContents(renamed, named: path.name)
            shadow.item.listId = row.list
            contents.item.listId = isMoved ? list : row.list
            let engine = FileImport(
                name: name, userID: userID, hosts: hosts, replica: transaction.replica, today: today)
            return engine.mutation(shadow: shadow, file: contents, view: view, id: "preview")?.mask ?? []
        }
        guard !fields.isEmpty else { return nil }
        let told = fields.filter(TaskOrigin.isTold)
        return SyncStep(
            .send, path.string, task: task, fields: told,
            from == path ? (told.isEmpty ? "its looks" : nil) : "was \(from.string)")
    }

    // MARK: From the remote

    private func documentSteps(_ tasks: [TaskID]) async throws -> [SyncStep] {
        guard rootHold == nil else { return [] }
        let pending = try await client.reading { transaction in
            let tables = SyncTables(transaction)
            return try tasks.map { task in
                let name = try DocumentName(task: task, in: transaction.databaseName)
                return (view: try transaction.document(name), row: try tables.file(task))
            }
        }
        return pending.compactMap { view, row in
            let task = view.name.task
            guard TaskIndexEntry(view, in: configuration.reading).request != nil else {
                return row.map { SyncStep(.remove, $0.path.string, task: task, "deleted elsewhere") }
            }
            let list = TaskItem(fields: view.fields).listId
            let directory = list.map { lists.path($0) ?? Self.directory(named: catalog.listNames[$0]) } ?? .root
            let plan = try? FileExport.plan(
                view, row: row, directory: directory, number: names.number(of: task),
                isTaken: { path in try index[path] != nil || folder.stamp(path) != nil })
            switch plan {
            case .create(let path, _): return SyncStep(.write, path.string, task: task, "new task")
            case .update(let row, let path, let bytes):
                let isMoved = path != row.path
                let reason =
                    isMoved ? "was \(row.path.string)" + (bytes == row.bytes ? "" : ", and changed") : "changed"
                return SyncStep(.write, path.string, task: task, reason)
            case .nothing: return nil
            case nil: return SyncStep(.leave, subject(of: task), task: task, "cannot be written as a file")
            }
        }
    }

    private static func directory(named name: String?) -> TaskPath {
        name.flatMap { try? ListIndex.directory(named: $0) { _ in false } } ?? .root
    }
}
