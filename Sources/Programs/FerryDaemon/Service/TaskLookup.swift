import Control
import Glibc
import TaskModel
import TaskSync

/// Finds the tasks that the words of a user name, and summarizes them.
struct TaskLookup: Sendable {
    let access: SyncAccess
    let tasksDirectory: String

    /// Returns the id of the task that a user names by its path, id or title.
    ///
    /// - Throws: `not-found`, or `ambiguous` with candidates.
    func resolve(_ task: String) async throws -> TaskID {
        let sync = try await access.stack().sync
        let reference = TaskReference(task)
        let directories = [tasksDirectory, realPath(tasksDirectory)]
        if let path = reference.path(in: directories), let id = await sync.task(atPath: path) { return id }
        // A whole id is what programs use, and does not need a look at all titles.
        if let entry = await sync.entries(of: [TaskID(task)]).entries.first, entry.deletion == nil {
            return entry.id
        }
        let catalog = await sync.catalog
        switch reference.find(in: catalog.living) {
        case .task(let id): return id
        case .nothing:
            throw ControlError(.notFound, "No task matches '\(task)'.", hint: "'ferry list' shows the tasks.")
        case .candidates(let ids):
            throw ControlError(
                .ambiguous, "'\(task)' matches several tasks.",
                hint: "Use the id of one of them, or more words of its title.",
                candidates: try await summaries(of: ids, sync))
        }
    }

    /// Returns the ids of several tasks, or fails before anything is done if one of them is wrong.
    func resolve(_ tasks: [String]) async throws -> [TaskID] {
        guard !tasks.isEmpty else { throw ControlError(.invalidArgument, "Name a task.") }
        var ids: [TaskID] = []
        for task in tasks {
            let id = try await resolve(task)
            if !ids.contains(id) { ids.append(id) }
        }
        return ids
    }

    /// Returns the id of a task that exists or is in the trash.
    ///
    /// - Throws: `not-found`, or `ambiguous` with candidates.
    func resolveAnywhere(_ task: String) async throws -> TaskID {
        do { return try await resolve(task) } catch let error as ControlError where error.code == .notFound {
            let trashed = try await access.stack().sync.catalog.trashed
            guard case .task(let id) = TaskReference(task).find(in: trashed) else { throw error }
            return id
        }
    }

    private func realPath(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }

    // MARK: Summaries

    func summary(of id: TaskID) async throws -> TaskSummary {
        guard let summary = try await summaries(of: [id], try await access.stack().sync).first else {
            throw ControlError(.notFound, "The task \(id) does not exist any more.")
        }
        return summary
    }

    /// Returns the summaries of those of the tasks that exist, in the order of `ids`.
    func summaries(of ids: [TaskID], _ sync: TaskSync) async throws -> [TaskSummary] {
        let conflicts = try await sync.conflictedTasks()
        let (entries, names) = await sync.entries(of: ids)
        return await sync.summaries(of: entries.map(TaskCatalog.Box.init), names, conflicts)
    }

    /// Returns the names of devices and lists, which describe an entry of the history.
    func historyWords() async throws -> HistoryWords {
        let stack = try await access.stack()
        let devices = try await stack.devices.all()
        return HistoryWords(
            devices: DeviceNames(devices, own: try await stack.devices.ownID),
            listNames: await stack.sync.catalog.listNames)
    }
}

extension TaskSync {
    /// The ids of the tasks that have an unresolved conflict.
    func conflictedTasks() async throws -> Set<TaskID> {
        conflictCount > 0 ? Set(try await conflicts().map(\.task)) : []
    }

    /// Returns what the control protocol says of each of the tasks.
    func summaries(
        of tasks: some Sequence<TaskCatalog.Box>, _ listNames: [ListID: String], _ conflicts: Set<TaskID>
    ) -> [TaskSummary] {
        tasks.map { task in
            TaskSummary(
                task.entry, listName: task.entry.list.flatMap { listNames[$0] }, path: path(ofTask: task.entry.id),
                hasConflict: conflicts.contains(task.entry.id))
        }
    }

    /// Returns the catalog's entries of these tasks, and the names of all lists. It does not return
    /// the whole catalog, because a caller that holds it makes the next change copy it.
    func entries(of ids: [TaskID]) -> (entries: [TaskCatalog.Entry], listNames: [ListID: String]) {
        (ids.compactMap { catalog[$0] }, catalog.listNames)
    }
}
