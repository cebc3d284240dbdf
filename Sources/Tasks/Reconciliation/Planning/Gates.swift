/// Conditions under which a node has to wait, whatever the table says.
///
/// The first one that applies is the node's reason.
enum Gates {
    static func apply(to draft: inout PlanDraft) {
        for index in draft.nodes.indices {
            if draft.nodes[index].isCalm { continue }
            if let reason = reason(for: draft.nodes[index], draft) { draft.nodes[index].wait(for: reason) }
            withhold(&draft.nodes[index], draft.conditions)
        }
    }

    private static func reason(for node: NodePlan, _ draft: PlanDraft) -> Reason? {
        let conditions = draft.conditions
        if conditions.isRootHeld { return .rootHeld }
        if conditions.isServerHeld { return .serverHeld }
        if conditions.isPaused { return .paused }
        if case .unreachable(let reason) = draft.trees.local[node.id] { return .unreachable(reason) }
        if node.remote == .unknown { return .notReported }
        if let reason = sharingReason(for: node, draft) { return reason }
        if node.writesDocument, let rejection = conditions.rejections[node.id], rejection.fields.isEmpty,
            rejection.state == node.local
        {
            return .rejected(rejection.message)
        }
        return nil
    }

    /// Keeps the values that the server refused out of the document. The node's other values travel.
    private static func withhold(_ node: inout NodePlan, _ conditions: Conditions) {
        guard node.writesDocument, let rejection = conditions.rejections[node.id] else { return }
        node.withheld = rejection.fields(in: node.local)
        if !node.withheld.isEmpty { node.reason = .rejected(rejection.message) }
    }

    /// Whether the rights of this user hold a node up.
    private static func sharingReason(for node: NodePlan, _ draft: PlanDraft) -> Reason? {
        let parent = (node.local ?? node.synced?.state ?? node.remote.node?.state)?.parent
        let list = parent.flatMap { draft[$0] }
        if node.remote.node?.access == .invited || list?.remote.node?.access == .invited { return .invited }
        if node.writesDocument, node.remote.node?.access == .readOnly || list?.remote.node?.access == .readOnly {
            return .notPermitted
        }
        // The directory of another user's list is removed: the user leaves the list, and deletes nothing of it.
        guard let list, list.localChange == .absent, let access = list.remote.node?.access, access != .full else {
            return nil
        }
        return node.localChange == .absent ? .leaving : nil
    }

    /// Lets attachments wait for their bytes, and asks for the transfers of those that nothing
    /// transfers yet.
    static func awaitTransfers(in draft: inout PlanDraft) {
        for index in draft.indexes(of: .attachment) {
            let node = draft.nodes[index]
            guard let transfer = transfer(for: node, draft.conditions), let contents = transfer.action.contents
            else { continue }
            switch draft.conditions.transfers[node.id] {
            case .finished(contents.digest): continue
            case .paused(contents.digest): draft.nodes[index].wait(for: .transferPaused)
            case .failed(contents.digest, let message): draft.nodes[index].wait(for: .transferFailed(message))
            case .running(contents.digest): draft.nodes[index].wait(for: .transferring)
            default:
                draft.nodes[index].wait(for: transfer.isUnwanted ? .notDownloaded : .transferring)
                if transfer.isUnwanted { continue }
                draft.nodes[index].records.append(Operation(node.id, transfer.action, .nothing, row: nil))
            }
        }
    }

    /// Returns the transfer that has to end before the resolution of an attachment is possible.
    private static func transfer(
        for node: NodePlan, _ conditions: Conditions
    ) -> (action: Action, isUnwanted: Bool)? {
        switch node.resolution {
        case .importFile, .merge, .restoreDocument:
            guard let local = node.local?.contents, local != node.remote.document?.state.contents,
                node.remoteChange == .absent || local != node.synced?.state.contents
            else { return mergedDownload(for: node, conditions) }
            return (.upload(local), false)
        case .exportFile, .restoreFile:
            guard let remote = node.remote.node?.state.contents, remote != node.file?.contents else { return nil }
            return (.download(remote), conditions.unwanted.contains(node.id))
        case .none, .trashFile, .trashDocument, .forget, .wait: return nil
        }
    }

    /// A file that was only renamed here while others replaced it: their version has to come first.
    private static func mergedDownload(
        for node: NodePlan, _ conditions: Conditions
    ) -> (action: Action, isUnwanted: Bool)? {
        guard node.resolution == .merge, let local = node.local?.contents, local == node.synced?.state.contents,
            let remote = node.remote.node?.state.contents, remote != local
        else { return nil }
        return (.download(remote), conditions.unwanted.contains(node.id))
    }
}
