/// Decisions about nodes that depend on the nodes in them or around them.
enum Families {
    /// Lets attachments follow their tasks.
    ///
    /// A task that goes takes its attachments with it, and one that comes back brings them back. That
    /// a directory `X.files` is missing together with `X.md` removes nothing from the task.
    static func followTasks(in draft: inout PlanDraft) {
        for index in draft.indexes(of: .attachment) {
            guard case .attachment(_, let id) = draft.nodes[index].id else { continue }
            // A task that no tree knows any more is gone, although its document still names attachments.
            let task = draft[.task(id)] ?? NodePlan(.task(id), draft.trees, draft.conditions)
            follow(task, &draft.nodes[index])
        }
    }

    private static func follow(_ task: NodePlan, _ node: inout NodePlan) {
        if case .heldForReview(.delete) = task.reason, let reason = task.reason { return node.wait(for: reason) }
        switch task.resolution {
        case .trashFile, .trashDocument, .forget:
            go(&node)
        case .none where task.file == nil && task.remote.node == nil: go(&node)
        case .restoreFile where node.localChange == .absent && node.remote.node != nil && node.reason == nil:
            node.resolution = .restoreFile
        case .restoreDocument where node.file != nil && node.remote == .absent:
            node.resolution = .restoreDocument
        case .wait where node.localChange == .absent:
            if let reason = task.reason { node.wait(for: reason) }
        default: break
        }
    }

    private static func go(_ node: inout NodePlan) {
        guard node.localChange != .unknown, node.remoteChange != .unknown else { return }
        node.reason = nil
        node.resolution = node.file == nil ? .forget : .trashFile
    }

    /// Lets lists live as long as something in them does. Lists below others are decided first.
    static func followChildren(in draft: inout PlanDraft) {
        let open = draft.indexes(of: .list).filter { index in
            let node = draft.nodes[index]
            if node.resolution == .none { return node.target == nil && node.implied != nil }
            return [.trashFile, .trashDocument, .forget].contains(node.resolution)
        }
        let byDepth = open.map { (index: $0, depth: depth($0, draft)) }.sorted { $0.depth > $1.depth }
        for (index, _) in byDepth {
            let found = children(of: draft.nodes[index].id, draft)
            decide(&draft.nodes[index], found)
            draft.nodes[index].decideTarget()
        }
    }

    /// The things in a list that keep it.
    private struct Children {
        /// A task or list that stays in the list.
        var isLived = false
        /// One of which it is not decided yet whether it stays.
        var isAwaited = false
        /// A file that belongs to no node.
        var hasForeign = false
    }

    private static func decide(_ node: inout NodePlan, _ children: Children) {
        switch node.resolution {
        case .trashFile:
            if children.isLived {
                node.resolution = .restoreDocument
            } else if children.isAwaited || children.hasForeign {
                node.wait(for: .notEmpty)
            }
        case .trashDocument where node.remote.node?.access == .full:
            if children.isLived {
                node.resolution = .restoreFile
            } else if children.isAwaited {
                node.wait(for: .notEmpty)
            }
        // The second is a list of which only the name of one below it tells.
        case .forget where children.isLived, .none where children.isLived: node.resolution = .restoreDocument
        default: break
        }
    }

    private static func children(of list: NodeID, _ draft: PlanDraft) -> Children {
        var found = Children()
        for node in draft.nodes where node.id != list && node.id.kind != .attachment {
            if node.target?.parent == list {
                if node.resolution == .wait {
                    found.isAwaited = true
                } else {
                    found.isLived = true
                }
            }
            if node.resolution == .wait, node.file?.location.directory == list { found.isAwaited = true }
        }
        found.hasForeign = draft.trees.local.foreign.contains { $0.directory == list }
        return found
    }

    /// Keeps the directories to be removed in which a file stays. Returns whether there was one.
    static func keepOccupied(in draft: inout PlanDraft) -> Bool {
        let going = draft.indexes(of: .list).filter { draft.nodes[$0].resolution == .trashFile }
        guard !going.isEmpty else { return false }
        let occupied = Set(draft.nodes.compactMap { $0.location?.directory })
        let kept = going.filter { occupied.contains(draft.nodes[$0].id) }
        for index in kept {
            draft.nodes[index].wait(for: .notEmpty)
            draft.nodes[index].decideTarget()
        }
        return !kept.isEmpty
    }

    private static func depth(_ index: Int, _ draft: PlanDraft) -> Int {
        var depth = 0
        let node = draft.nodes[index]
        var parent = (node.synced?.state ?? node.local ?? node.remote.node?.state ?? node.implied)?.parent
        // Parents come from names with slashes and form no circle; the limit makes that no assumption.
        while let id = parent, let node = draft[id], depth < 64 {
            depth += 1
            parent = (node.synced?.state ?? node.local ?? node.remote.node?.state ?? node.implied)?.parent
        }
        return depth
    }
}
