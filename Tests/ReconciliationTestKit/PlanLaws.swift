import Reconciliation

/// The laws that every plan must keep, checked on one case.
package enum PlanLaws {
    /// Returns the laws that planning and performing a case breaks.
    ///
    /// - Parameter plans: is increased by the number of plans that were made.
    package static func broken(by treeCase: TreeCase, plans: inout Int) -> [String] {
        let before = treeCase.trees
        var replica = ModelReplica(before)
        var server = ModelServer(before.remote)
        var broken: [String] = []
        var touched = Set<NodeID>()
        var plan = Planner.plan(replica.trees, replica.conditions)
        plans += 1
        // A transfer ends as an observation, after which there is more to plan.
        for round in 0..<4 {
            let transfers = plan.operations.contains { !$0.action.changesRow }
            if round > 0, plan.operations.isEmpty { break }
            if round == 3 { broken.append("planning does not end: \(plan.operations)") }
            broken += unknownTouched(by: plan, before)
            touched.formUnion(plan.operations.map(\.node))
            let failed = replica.perform(plan.operations, on: &server)
            if !failed.isEmpty { broken.append("an expectation does not hold: \(failed)") }
            plan = Planner.plan(replica.trees, replica.conditions)
            plans += 1
            if !transfers, !plan.operations.isEmpty { broken.append("a second plan is not empty: \(plan.operations)") }
        }
        broken += unequal(replica.trees, plan)
        broken += lost(before, replica, server)
        return broken
    }

    /// Nothing is done to a file or a document of which nothing is known.
    private static func unknownTouched(by plan: Plan, _ trees: Trees) -> [String] {
        plan.operations.compactMap { operation in
            if case .unreachable = trees.local[operation.node] {
                return "something is concluded from an unknown file: \(operation)"
            }
            return trees.remote[operation.node] == .unknown
                ? "something is concluded from an unknown document: \(operation)" : nil
        }
    }

    /// A node without a reason is equal in all trees, and a file has the name that its document asks for.
    private static func unequal(_ trees: Trees, _ plan: Plan) -> [String] {
        trees.ids.sorted().compactMap { id in
            guard plan.reasons[id] == nil else { return nil }
            let (file, remote, synced) = (trees.local[id].file, trees.remote[id].node, trees.synced[id])
            // The attachments of a task in the trash stay in its document.
            if case .attachment(_, let task) = id, trees.remote[.task(task)].node == nil, file == nil, synced == nil {
                return nil
            }
            if file == nil, remote == nil, synced == nil { return nil }
            guard let file, let remote, let synced, remote.state == synced.state, file.location == synced.location,
                id.kind == .list || file.contents == remote.state.contents
            else { return "\(id) is not at rest and has no reason: \(String(describing: file)) \(trees.remote[id])" }
            return nil
        }
    }

    /// Each value that a side held is in a tree, the trash, or the history, unless it is the base of
    /// what another side made of it.
    private static func lost(_ before: Trees, _ replica: ModelReplica, _ server: ModelServer) -> [String] {
        var kept = replica.trash.union(server.displaced)
        for id in replica.trees.ids {
            if let contents = replica.trees.local[id].file?.contents { kept.formUnion(contents.savedValues) }
            if let contents = replica.trees.remote[id].document?.state.contents { kept.formUnion(contents.savedValues) }
        }
        for document in server.documents.values {
            if let contents = document.document?.state.contents { kept.formUnion(contents.savedValues) }
        }
        return before.ids.sorted().flatMap { id -> [String] in
            guard id.kind != .list else { return [] }
            let base = before.synced[id]?.state.contents.savedValues ?? []
            let held = [before.local[id].file?.contents, before.remote[id].document?.state.contents]
            return held.compactMap { $0?.savedValues }.flatMap { $0.subtracting(base).subtracting(kept) }
                .map { "\(id) has lost \($0)" }
        }
    }

    /// Returns the smallest case found that still breaks a law: without nodes, and with sides as they
    /// were when both agreed.
    package static func shrunk(_ treeCase: TreeCase) -> TreeCase {
        var smallest = treeCase
        var plans = 0
        var isSmaller = true
        while isSmaller {
            isSmaller = false
            for candidate in simpler(smallest) where !broken(by: candidate, plans: &plans).isEmpty {
                smallest = candidate
                isSmaller = true
                break
            }
        }
        return smallest
    }

    private static func simpler(_ treeCase: TreeCase) -> [TreeCase] {
        var found: [TreeCase] = []
        for index in treeCase.nodes.indices {
            var without = treeCase
            without.nodes.remove(at: index)
            found.append(without)
            guard let synced = treeCase.nodes[index].synced, let file = treeCase.nodes[index].syncedFile else {
                continue
            }
            var calm = treeCase
            calm.nodes[index].remote = .living(synced)
            if calm != treeCase { found.append(calm) }
            calm = treeCase
            calm.nodes[index].local = .file(treeCase.nodes[index].syncedDirectory, file, synced.contents)
            if calm != treeCase { found.append(calm) }
        }
        if !treeCase.foreign.isEmpty { found.append(TreeCase(treeCase.nodes)) }
        // Removing a directory or a task leaves files without a place; such a case means nothing.
        return found.filter(\.isSound)
    }
}

extension TreeCase {
    /// Whether every file is in a directory that is there, and no two have one location.
    package var isSound: Bool {
        var locations = Set(foreign)
        let present = Set(nodes.filter { if case .file = $0.local { true } else { false } }.map(\.id))
        for node in nodes {
            guard case .file(let directory, let name, _) = node.local else { continue }
            guard locations.insert(Location(directory, FileName(name))).inserted else { return false }
            if let directory, directory.kind == .list, !present.contains(directory) { return false }
        }
        return true
    }
}
