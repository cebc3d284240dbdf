import Control

extension DaemonService {
    private var history: TaskHistory { TaskHistory(lookup: lookup) }

    func conflicts() async throws -> [ConflictSummary] { try await history.conflicts() }

    func resolveConflicts(_ decision: ConflictDecision, ids: [String]) async throws -> [ConflictSummary] {
        try await history.resolveConflicts(decision, ids: ids)
    }

    func history(_ task: String) async throws -> [ConflictSummary] { try await history.entries(of: task) }

    func explanation(_ task: String) async throws -> TaskExplanation { try await history.explanation(task) }

    func undo(_ task: String?, isTrial: Bool) async throws -> [UndoneSummary] {
        try await history.undo(task, isTrial: isTrial)
    }
}
