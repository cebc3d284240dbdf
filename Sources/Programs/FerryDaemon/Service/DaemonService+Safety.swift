import Control
import DocumentModel
import TaskSync

extension DaemonService {
    /// More tasks than this in one removal have to be confirmed.
    private static let removalLimit = 10

    func remove(_ tasks: [String], confirmed: Bool) async throws -> [TaskSummary] {
        let ids = try await resolve(tasks)
        let sync = try await stack().sync
        guard confirmed || ids.count <= Self.removalLimit else {
            throw ControlError(
                .conflict, "\(ids.count) tasks at once go to the trash only when that is confirmed.", hint: "Add --yes."
            )
        }
        let removed = try await summaries(of: ids, sync)
        try await asking { try await $0.remove(ids) }
        return removed
    }

    // MARK: Held deletes

    func heldDeletes() async throws -> [HeldDelete] {
        let sync = try await stack().sync
        let names = await sync.catalog.listNames
        return await sync.heldDeletes.map { HeldDelete($0.entry, since: $0.since, names) }
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
        return held.filter { ids.contains($0.entry.id) }.map { HeldDelete($0.entry, since: $0.since, names) }
    }

    // MARK: Trash

    func trash() async throws -> [TrashedTask] {
        let sync = try await stack().sync
        let catalog = await sync.catalog
        return catalog.trashed
            .sorted { ($0.deletion?.time ?? .distantFuture, $0.id) > ($1.deletion?.time ?? .distantFuture, $1.id) }
            .map { task in
                TrashedTask(
                    taskID: task.id, title: task.title, list: task.list.flatMap { catalog.listNames[$0] } ?? "",
                    deletedTime: task.deletion?.time?.rfc3339,
                    keptUntil: task.deletion?.time.flatMap(sync.trashKeeps)?.rfc3339)
            }
    }

    func restore(_ tasks: [String]) async throws -> [TaskSummary] {
        guard !tasks.isEmpty else { throw ControlError(.invalidArgument, "Name a task.") }
        let ids = try Self.ids(tasks, in: await stack().sync.catalog.trashed)
        try await asking { try await $0.restore(ids) }
        return try await summaries(of: ids, try await stack().sync)
    }

    /// The ids of tasks that are named by id or title among a few.
    private static func ids(_ names: [String], in tasks: [TaskCatalog.Entry]) throws -> [String] {
        try names.map { name in
            switch TaskReference(name).find(in: tasks) {
            case .task(let id): return id
            case .nothing:
                throw ControlError(.notFound, "No task there is meant by '\(name)'.")
            case .candidates(let ids):
                let candidates = tasks.filter { ids.contains($0.id) }
                throw ControlError(
                    .ambiguous, "'\(name)' may mean several tasks.", hint: "Use the id of one of them.",
                    candidates: candidates.map { TaskSummary($0, listName: nil, path: nil, hasConflict: false) })
            }
        }
    }
}

extension HeldDelete {
    init(_ task: TaskCatalog.Entry, since: Int64, _ listNames: [String: String]) {
        let (microseconds, overflow) = since.multipliedReportingOverflow(by: 1_000_000)
        self.init(
            taskID: task.id, title: task.title, list: task.list.flatMap { listNames[$0] } ?? "",
            since: overflow ? "" : Timestamp(microseconds: microseconds).rfc3339)
    }
}

extension Timestamp {
    fileprivate static let distantFuture = Timestamp(microseconds: .max)
}
