import Control
import DocumentModel
import TaskModel
import TaskSync

extension DaemonService {
    /// The number of tasks above which a removal must be confirmed.
    private static let removalLimit = 10

    func remove(_ tasks: [String], confirmed: Bool) async throws -> [TaskSummary] {
        let ids = try await lookup.resolve(tasks)
        let sync = try await stack().sync
        guard confirmed || ids.count <= Self.removalLimit else {
            throw ControlError(
                .conflict, "Moving \(ids.count) tasks to the trash must be confirmed.", hint: "Add --yes."
            )
        }
        let removed = try await lookup.summaries(of: ids, sync)
        try await asking { try await $0.remove(ids) }
        return removed
    }

    // MARK: Held deletes

    func heldDeletes() async throws -> [HeldDelete] {
        let sync = try await stack().sync
        let names = await sync.catalog.listNames
        return await sync.heldDeletes.map { HeldDelete($0.entry, since: $0.since, isRevert: $0.isRevert, names) }
    }

    func decideDeletes(_ decision: DeleteDecision, tasks: [String]) async throws -> [HeldDelete] {
        let sync = try await stack().sync
        let (held, names) = (await sync.heldDeletes, await sync.catalog.listNames)
        let ids = try tasks.isEmpty ? held.map(\.entry.id) : Self.ids(tasks, in: held.map(\.entry))
        try await asking { sync in
            switch decision {
            case .approve: try await sync.approveDeletes(ids)
            case .restore: try await sync.restoreDeletes(ids)
            }
        }
        return held.filter { ids.contains($0.entry.id) }.map {
            HeldDelete($0.entry, since: $0.since, isRevert: $0.isRevert, names)
        }
    }

    // MARK: Trash

    func trash() async throws -> [TrashedTask] {
        let sync = try await stack().sync
        let catalog = await sync.catalog
        let attachments = try await asking { try await $0.trashedAttachments() }
        let tasks = catalog.trashed.map { task in
            let entry = TrashedTask(
                taskID: task.id.rawValue, title: task.title, list: task.list.flatMap { catalog.listNames[$0] } ?? "",
                deletedTime: task.deletion?.time?.rfc3339,
                keptUntil: task.deletion?.time.flatMap(sync.trashKeeps)?.rfc3339)
            return (time: task.deletion?.time, entry: entry)
        }
        let files = attachments.compactMap { entry -> (time: Timestamp?, entry: TrashedTask)? in
            guard let file = entry.displaced.flatMap({ TaskAttachment($0) }) else { return nil }
            let trashed = TrashedTask(
                taskID: entry.task.rawValue, id: HistoryWords.handle(of: entry.id), attachment: file.name,
                size: file.size,
                title: entry.title, list: catalog[entry.task]?.list.flatMap { catalog.listNames[$0] } ?? "",
                deletedTime: entry.replacedTime?.rfc3339,
                keptUntil: entry.replacedTime.flatMap(sync.trashKeeps)?.rfc3339)
            return (entry.replacedTime, trashed)
        }
        return (tasks + files)
            .sorted { ($0.time ?? .distantFuture, $0.entry.id) > ($1.time ?? .distantFuture, $1.entry.id) }
            .map(\.entry)
    }

    func restore(_ words: [String]) async throws -> [TaskSummary] {
        guard !words.isEmpty else { throw ControlError(.invalidArgument, "Name a task.") }
        let trashed = try await stack().sync.catalog.trashed
        var (tasks, values): ([TaskID], [Displacement]) = ([], [])
        for word in words {
            if case .nothing = TaskReference(word).find(in: trashed), let value = try await displacement(meantBy: word)
            {
                values.append(value)
            } else {
                tasks += try Self.ids([word], in: trashed)
            }
        }
        let (ids, displaced) = (tasks, values)
        try await asking { sync in
            if !ids.isEmpty { try await sync.restore(ids) }
            for value in displaced { try await sync.restoreDisplaced(value.id, of: value.task) }
        }
        return try await lookup.summaries(of: ids + displaced.map(\.task), try await stack().sync)
    }

    /// Returns a value of any task's history by the prefix of its handle, or an attachment in the
    /// trash by its name.
    private func displacement(meantBy word: String) async throws -> Displacement? {
        let (files, history) = try await asking { sync in
            (try await sync.trashedAttachments(), try await sync.displacements())
        }
        // At least as long as the prefixes that 'ferry history' shows.
        let byHandle = word.utf8.count < 2 ? [] : history.filter { HistoryWords.handle(of: $0.id).hasPrefix(word) }
        let named = files.filter { file in
            file.displaced.flatMap { TaskAttachment($0) }.map { $0.name.utf8.elementsEqual(word.utf8) } ?? false
        }
        let found = named.isEmpty ? byHandle : named
        guard found.count > 1 else { return found.first }
        let handles = found.prefix(5).map { "\(HistoryWords.handle(of: $0.id)) of '\($0.title)'" }
        throw ControlError(
            .ambiguous, "'\(word)' matches several: \(handles.joined(separator: ", ")).",
            hint: "Use the id that 'ferry trash' or 'ferry history' shows.")
    }

    /// Returns the ids of the tasks that are named by id or title, among the given tasks.
    private static func ids(_ names: [String], in tasks: [TaskCatalog.Entry]) throws -> [TaskID] {
        try names.map { name in
            switch TaskReference(name).find(in: tasks) {
            case .task(let id): return id
            case .nothing:
                throw ControlError(.notFound, "No such task matches '\(name)'.")
            case .candidates(let ids):
                let candidates = tasks.filter { ids.contains($0.id) }
                throw ControlError(
                    .ambiguous, "'\(name)' matches several tasks.", hint: "Use the id of one of them.",
                    candidates: candidates.map { TaskSummary($0, listName: nil, path: nil, hasConflict: false) })
            }
        }
    }
}

extension HeldDelete {
    init(_ task: TaskCatalog.Entry, since: Int64, isRevert: Bool, _ listNames: [ListID: String]) {
        let (microseconds, overflow) = since.multipliedReportingOverflow(by: 1_000_000)
        self.init(
            taskID: task.id.rawValue, title: task.title, list: task.list.flatMap { listNames[$0] } ?? "",
            since: overflow ? "" : Timestamp(microseconds: microseconds).rfc3339, isRevert: isRevert)
    }
}

extension Timestamp {
    fileprivate static let distantFuture = Timestamp(microseconds: .max)
}
