import Control
import DocumentModel
import Glibc
import Synchronization
import TaskModel
import TaskSync

extension DaemonService {
    func tasks(_ filter: TaskFilter) async throws -> TaskListing {
        let all = try await currentRows()
        let query = try TaskQuery(filter, listNames: all.listNames)
        return TaskListing(rows: all.rows.filter { query.matches($0.entry) }.map(\.text))
    }

    /// All tasks in order: those of the last list, if nothing has happened since; else those of its rows that are still true.
    private func currentRows() async throws -> TaskRows {
        let stack = try await stack()
        // Taken first, so that what happens meanwhile makes them old.
        let moment = hub.moment
        let known = rows.withLock { $0 }.flatMap { $0.stack == ObjectIdentifier(stack) ? $0 : nil }
        if let known, known.moment == moment { return known }
        let catalog = await stack.sync.catalog
        let old = Dictionary(uniqueKeysWithValues: (known?.rows ?? []).map { ($0.entry.id, $0) })
        let current = try await sources(of: Array(catalog.living), catalog.listNames, stack.sync).map { source in
            if let row = old[source.entry.id], row.isMade(of: source) { return row }
            return TaskRow(source)
        }
        let new = TaskRows(
            rows: current.sorted { $0.order < $1.order }, listNames: catalog.listNames, moment: moment,
            stack: ObjectIdentifier(stack))
        rows.withLock { $0 = new }
        return new
    }

    /// Gives up the memory of the last list; false where there was none.
    func forgetRows() -> Bool { rows.withLock { $0.take() } != nil }

    func task(_ task: String) async throws -> TaskDetail {
        let id = try await resolve(task)
        return try await asking { sync in
            let detail = try await sync.detail(id)
            let transfers = await sync.allTransfers
            let item = detail.item
            let attachments = item.attachments.sorted { ($0.value.name, $0.key) < ($1.value.name, $1.key) }.map {
                AttachmentSummary($0.key, $0.value, task: id, path: detail.attachmentPaths[$0.key], transfers)
            }
            // What is still on its way up has no attachment yet.
            let coming = transfers.filter { transfer in
                transfer.task == id && transfer.isUpload && !transfer.phase.isOver
                    && !attachments.contains { $0.name == transfer.name }
            }
            return TaskDetail(
                summary: try await self.summary(of: id), notes: item.notes,
                fields: item.fields.mapValues(ValueText.text),
                attachments: attachments + coming.map(AttachmentSummary.init),
                createdTime: item.createdTime?.rfc3339, updatedTime: item.updatedTime?.rfc3339,
                completedTime: item.completedTime?.rfc3339, remarks: detail.remarks)
        }
    }

    func add(_ change: TaskChange) async throws -> TaskSummary {
        let edit = try TaskEdit(change)
        guard edit.title != nil else { throw ControlError(.invalidArgument, "A task needs a title.") }
        let id = try await asking { try await $0.add(edit) }
        if try await stack().sync.catalog[id] != nil { return try await summary(of: id) }
        // While syncing is paused the bridge takes nothing in, but the task is in the journal.
        return TaskSummary(
            id: id, title: edit.title ?? "", isCompleted: edit.isCompleted ?? false, priority: change.priority ?? .none,
            due: change.due.flatMap { $0.isEmpty ? nil : $0 }, tags: change.tags ?? change.addTags,
            list: edit.listName ?? "", sync: .pending)
    }

    func change(_ task: String, _ change: TaskChange) async throws -> TaskSummary {
        let edit = try TaskEdit(change)
        let id = try await resolve(task)
        try await asking { try await $0.edit(id, edit) }
        return try await summary(of: id)
    }

    // MARK: Finding

    /// The id of the task that somebody means.
    /// - Throws: `not-found`, or `ambiguous` with candidates.
    func resolve(_ task: String) async throws -> String {
        let sync = try await stack().sync
        let reference = TaskReference(task)
        let directories = [configuration.tasks, realPath(configuration.tasks)]
        if let path = reference.path(in: directories), let id = await sync.task(atPath: path) { return id }
        let catalog = await sync.catalog
        switch reference.find(in: catalog.living) {
        case .task(let id): return id
        case .nothing:
            throw ControlError(.notFound, "No task is meant by '\(task)'.", hint: "'ferry list' shows the tasks.")
        case .candidates(let ids):
            throw ControlError(
                .ambiguous, "'\(task)' may mean several tasks.",
                hint: "Use the id of one of them, or more of its title.",
                candidates: try await summaries(of: ids, sync))
        }
    }

    /// All of them or none, so that a wrong one among many changes nothing.
    func resolve(_ tasks: [String]) async throws -> [String] {
        guard !tasks.isEmpty else { throw ControlError(.invalidArgument, "Name a task.") }
        var ids: [String] = []
        for task in tasks {
            let id = try await resolve(task)
            if !ids.contains(id) { ids.append(id) }
        }
        return ids
    }

    private func realPath(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }

    // MARK: Summaries

    func summary(of id: String) async throws -> TaskSummary {
        guard let summary = try await summaries(of: [id], try await stack().sync).first else {
            throw ControlError(.notFound, "The task \(id) is not there any more.")
        }
        return summary
    }

    /// Of those that are there, in the order of their ids here.
    func summaries(of ids: [String], _ sync: TaskSync) async throws -> [TaskSummary] {
        // Not the whole catalog: whoever holds that makes the next change copy it.
        let (entries, names) = await sync.entries(of: ids)
        return try await sources(of: entries, names, sync).map(\.summary)
    }

    private func sources(
        of tasks: [TaskCatalog.Entry], _ listNames: [String: String], _ sync: TaskSync
    ) async throws -> [TaskRow.Source] {
        let paths = await sync.paths(of: tasks)
        let hasConflicts = await sync.conflictCount > 0
        let conflicts = hasConflicts ? Set(try await sync.conflicts().map(\.task)) : []
        return zip(tasks, paths).map { task, path in
            TaskRow.Source(
                entry: task, listName: task.list.flatMap { listNames[$0] }, path: path,
                hasConflict: conflicts.contains(task.id))
        }
    }
}

extension TaskSync {
    /// Where the files of tasks are, in one turn.
    fileprivate func paths(of tasks: [TaskCatalog.Entry]) -> [String?] { tasks.map { path(ofTask: $0.id) } }

    /// What the catalog has of these tasks, and the names of all lists, in one turn.
    func entries(of ids: [String]) -> (entries: [TaskCatalog.Entry], listNames: [String: String]) {
        (ids.compactMap { catalog[$0] }, catalog.listNames)
    }
}

extension AttachmentSummary {
    fileprivate init(
        _ id: String, _ attachment: TaskAttachment, task: String, path: String?, _ transfers: [Transfer]
    ) {
        let running = transfers.last { $0.task == task && $0.attachment == id }
        let state: State =
            if path != nil {
                running.map { $0.isUpload && !$0.phase.isOver } ?? false ? .uploading : .here
            } else {
                switch running?.phase {
                case .running?: .downloading
                case .queued?, .paused?, .waiting?: .waiting
                case .failed?: .damaged
                case .done?, .cancelled?, nil: attachment.manifest == nil ? .waiting : .remote
                }
            }
        self.init(
            id: id, name: attachment.name, mimeType: attachment.mimeType ?? "application/octet-stream",
            size: attachment.size ?? 0, sha256: attachment.sha256 ?? "", state: state, path: path)
    }

    /// Of a file that is on its way to become one.
    fileprivate init(_ transfer: Transfer) {
        self.init(
            id: transfer.attachment ?? transfer.id, name: transfer.name, mimeType: "application/octet-stream",
            size: transfer.size, sha256: "", state: transfer.phase == .running ? .uploading : .waiting)
    }
}
