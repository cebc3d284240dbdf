/// Deletes and reverts that come in numbers, which wait until the user has reviewed them.
enum HeldChanges {
    /// The number of changes that are never held.
    static let floor = 10
    /// The share of all tasks above which more changes than `floor` are held.
    static let share = 0.2

    /// Whether changes are held for review.
    ///
    /// - Parameters:
    ///   - count: the number of changes.
    ///   - recent: the changes that come before and after these.
    ///   - taskCount: the number of tasks, those that changed included.
    static func holds(_ count: Int, recent: RecentChanges, taskCount: Int) -> Bool {
        guard count > 0 else { return false }
        let total = count + recent.count + recent.following
        return recent.isHolding || total > floor && Double(total) > share * Double(taskCount)
    }

    static func apply(to draft: inout PlanDraft) {
        let (conditions, taskCount) = (draft.conditions, draft.trees.synced.taskCount)
        var found: [HeldChange: [Int]] = [:]
        for index in draft.indexes(of: .task) {
            if draft.nodes[index].isCalm, conditions.held.isEmpty { continue }
            let node = draft.nodes[index]
            let held = conditions.held[node.id]
            guard let change = change(of: node) else {
                if held != nil, node.resolution != .wait { release(&draft.nodes[index]) }
                continue
            }
            switch conditions.decisions[node.id] {
            case .approve where held == change: release(&draft.nodes[index])
            case .restore where held == change:
                release(&draft.nodes[index])
                let isGone = node.remote.node == nil
                draft.nodes[index].resolution = change == .delete ? .restoreFile : isGone ? .trashFile : .exportFile
            default:
                if held == change {
                    draft.nodes[index].wait(for: .heldForReview(change))
                } else {
                    found[change, default: []].append(index)
                }
            }
        }
        for change in [HeldChange.delete, .revert] {
            let indexes = found[change] ?? []
            let recent = change == .delete ? conditions.deletes : conditions.reverts
            // Tasks that were deleted before are not among those that exist.
            let taskCount = change == .delete ? taskCount + recent.count : taskCount
            guard holds(indexes.count, recent: recent, taskCount: taskCount) else { continue }
            for index in indexes {
                draft.nodes[index].wait(for: .heldForReview(change))
                draft.nodes[index].records.append(
                    Operation(draft.nodes[index].id, .hold(change), .nothing, row: nil))
            }
        }
    }

    /// The kind of change for which a node could be held.
    private static func change(of node: NodePlan) -> HeldChange? {
        switch node.resolution {
        case .trashDocument: .delete
        case .importFile, .merge, .restoreDocument: isReverted(node) ? .revert : nil
        default: nil
        }
    }

    private static func isReverted(_ node: NodePlan) -> Bool {
        node.file?.isFormerVersion == true && node.file?.contents != node.synced?.state.contents
    }

    private static func release(_ node: inout NodePlan) {
        node.records.append(Operation(node.id, .release, .nothing, row: nil))
    }
}
