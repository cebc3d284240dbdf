import Control
import TaskModel
import TaskSync

/// Conflicts, the history of tasks, and undo.
struct TaskHistory: Sendable {
    let lookup: TaskLookup
    private var access: SyncAccess { lookup.access }

    func conflicts() async throws -> [ConflictSummary] {
        let words = try await lookup.historyWords()
        return try await access.asking { sync in
            var summaries: [ConflictSummary] = []
            for conflict in try await sync.conflicts() { summaries.append(await words.summary(of: conflict, in: sync)) }
            return summaries
        }
    }

    func resolveConflicts(_ decision: ConflictDecision, ids: [String]) async throws -> [ConflictSummary] {
        let words = try await lookup.historyWords()
        let all = try await access.asking { try await $0.conflicts() }
        var chosen: [Displacement] = ids.isEmpty ? all : []
        for id in ids {
            let found = try await conflicts(meantBy: id, among: all)
            chosen += found.filter { new in !chosen.contains { $0.id == new.id } }
        }
        let settled = chosen
        return try await access.asking { sync in
            var summaries: [ConflictSummary] = []
            for conflict in settled { summaries.append(await words.summary(of: conflict, in: sync)) }
            try await sync.resolve(settled.map(\.id), takingDisplaced: decision == .theirs)
            return summaries
        }
    }

    /// One by the beginning of its id or handle, or all of a task.
    private func conflicts(meantBy text: String, among all: [Displacement]) async throws -> [Displacement] {
        let found =
            text.isEmpty ? [] : all.filter { $0.id.hasPrefix(text) || HistoryWords.handle(of: $0.id).hasPrefix(text) }
        if found.count == 1 { return found }
        guard found.isEmpty else {
            throw ControlError(
                .ambiguous, "Several conflicts begin with '\(text)'.",
                hint: "Use more letters of the id, or name the task.")
        }
        let task = try? await lookup.resolve(text)
        let ofTask = all.filter { $0.task == task }
        guard !ofTask.isEmpty else {
            throw ControlError(
                .notFound, "No conflict matches '\(text)'.", hint: "'ferry conflicts' shows them.")
        }
        return ofTask
    }

    /// Returns the values of a task that merges have replaced, newest first.
    func entries(of task: String) async throws -> [ConflictSummary] {
        let id = try await lookup.resolveAnywhere(task)
        let words = try await lookup.historyWords()
        return try await access.asking { sync in
            var summaries: [ConflictSummary] = []
            for entry in try await sync.history(of: id) { summaries.append(await words.summary(of: entry, in: sync)) }
            return summaries
        }
    }

    func explanation(_ task: String) async throws -> TaskExplanation {
        let id = try await lookup.resolveAnywhere(task)
        let words = try await lookup.historyWords()
        let summary = try await lookup.summary(of: id)
        return try await access.asking { sync in
            let origins = try await sync.origins(of: id)
            let detail = try await sync.detail(id)
            return words.explanation(of: origins, detail, summary)
        }
    }

    func undo(_ task: String?, isTrial: Bool) async throws -> [UndoneSummary] {
        var id: TaskID?
        if let task { id = try await lookup.resolveAnywhere(task) }
        let target = id
        let words = try await lookup.historyWords()
        return try await access.asking { sync in
            try await sync.undo(target, isTrial: isTrial).map { words.summary(of: $0, isTrial: isTrial) }
        }
    }
}
