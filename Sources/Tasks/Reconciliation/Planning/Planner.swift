/// The operations to perform, and the nodes that are not at rest.
package struct Plan: Hashable, Sendable {
    /// The operations in the order in which they are to happen.
    package var operations: [Operation]
    /// The reason of each looked-at node that is not at rest. A node without one is at rest.
    package var reasons: [NodeID: Reason]

    package init(operations: [Operation], reasons: [NodeID: Reason]) {
        self.operations = operations
        self.reasons = reasons
    }
}

/// Derives the operations that bring dirty nodes to rest.
///
/// The plan follows from the three trees and the conditions alone. There is no clock, no randomness,
/// and no memory of earlier plans: whatever was interrupted, lost, or changed meanwhile, the next
/// plan is made of what is then true.
package enum Planner {
    /// Returns the plan for the dirty nodes and their neighbors.
    package static func plan(_ trees: Trees, dirty: Set<NodeID>, _ conditions: Conditions = Conditions()) -> Plan {
        plan(PlanDraft(Scope.nodes(dirty: dirty, trees), trees, conditions))
    }

    /// Returns the plan for all nodes.
    package static func plan(_ trees: Trees, _ conditions: Conditions = Conditions()) -> Plan {
        plan(PlanDraft(trees.ids, trees, conditions))
    }

    private static func plan(_ undecided: PlanDraft) -> Plan {
        var draft = undecided
        Gates.apply(to: &draft)
        HeldChanges.apply(to: &draft)
        Families.followTasks(in: &draft)
        Gates.awaitTransfers(in: &draft)
        for index in draft.nodes.indices { draft.nodes[index].decideTarget() }
        Families.followChildren(in: &draft)
        // A file that has to stay for want of its directory keeps the one that it is in.
        repeat { NameAllocation.apply(to: &draft) } while Families.keepOccupied(in: &draft)
        let operations = OperationBuilder.operations(of: draft)
        return Plan(operations: operations, reasons: reasons(of: draft, with: operations))
    }

    private static func reasons(of draft: PlanDraft, with operations: [Operation]) -> [NodeID: Reason] {
        var reasons: [NodeID: Reason] = [:]
        for operation in operations { reasons[operation.node] = .inProgress }
        for node in draft.nodes { if let reason = node.reason { reasons[node.id] = reason } }
        return reasons
    }
}
