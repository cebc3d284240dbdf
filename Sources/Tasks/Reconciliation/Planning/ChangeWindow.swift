/// The latest changes of one kind, by which many that come one by one are recognized.
///
/// Deletes that were let through count for an hour. Once some are held, further ones are held for an
/// hour, or until the user has decided about all of them. Reverts count for a minute. More than two
/// may be the first of many: they are held, and planned again once no more of them come.
package struct ChangeWindow: Sendable {
    /// The number of reverts that are not held as the first of many.
    private static let few = 2

    private let change: HeldChange
    private var span: Duration { change == .delete ? .seconds(3600) : .seconds(60) }
    /// The times at which changes were let through.
    private var passed: [NodeID: Duration] = [:]
    private var heldUntil: Duration?

    package init(_ change: HeldChange) { self.change = change }

    /// Returns the changes that count at a moment.
    ///
    /// - Parameters:
    ///   - nodes: the nodes that are planned, whose earlier changes do not count.
    ///   - now: the time of a monotonic clock.
    ///   - following: the number of changes that are reported, and will be planned soon, or that are held.
    package func recent(besides nodes: Set<NodeID> = [], at now: Duration, following: Int) -> RecentChanges {
        let count = passed.count { $0.value + span >= now && !nodes.contains($0.key) }
        let isFirst = change == .revert && nodes.count + count + following > Self.few
        return RecentChanges(
            count: count, following: following, isHolding: isFirst || heldUntil.map { now < $0 } ?? false)
    }

    /// Adds the changes that a plan lets through or holds. Those that the user has approved are
    /// released by the plan, and do not count.
    package mutating func add(_ plan: Plan, at now: Duration) {
        passed = passed.filter { $0.value + span >= now }
        let released = Set(plan.operations.lazy.filter { $0.action == .release }.map(\.node))
        for operation in plan.operations where isMade(by: operation.action) && !released.contains(operation.node) {
            passed[operation.node] = now
        }
        if change == .delete, plan.operations.contains(where: { $0.action == .hold(.delete) }) {
            heldUntil = now + span
        }
    }

    private func isMade(by action: Action) -> Bool {
        switch action {
        case .trashDocument: change == .delete
        case .updateDocument, .restoreDocument: change == .revert
        default: false
        }
    }

    /// Forgets all changes, because the user has decided about everything that was held.
    package mutating func clear() { (passed, heldUntil) = ([:], nil) }
}
