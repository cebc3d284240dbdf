/// The deletes of the last hour, by which many that come one by one are recognized.
///
/// Deletes that were let through count for an hour. Once some are held, further ones are held for an
/// hour, or until the user has decided about all of them.
package struct DeleteWindow: Sendable {
    private static let span: Duration = .seconds(3600)

    /// The deletes that were let through, oldest first.
    private var passed: [(time: Duration, count: Int)] = []
    private var heldUntil: Duration?

    package init() {}

    /// Returns the deletes that count at a moment.
    ///
    /// - Parameters:
    ///   - now: the time of a monotonic clock.
    ///   - following: the number of deletes that are reported, and will be planned soon.
    package func recent(at now: Duration, following: Int) -> RecentChanges {
        RecentChanges(
            count: passed.reduce(0) { $1.time + Self.span < now ? $0 : $0 + $1.count }, following: following,
            isHolding: heldUntil.map { now < $0 } ?? false)
    }

    /// Adds the deletes that a plan lets through or holds. Those that the user has approved are
    /// released by the plan, and do not count.
    package mutating func add(_ plan: Plan, at now: Duration) {
        passed.removeAll { $0.time + Self.span < now }
        let released = Set(plan.operations.lazy.filter { $0.action == .release }.map(\.node))
        let count = plan.operations.count { $0.action == .trashDocument && !released.contains($0.node) }
        if count > 0 { passed.append((now, count)) }
        if plan.operations.contains(where: { $0.action == .hold(.delete) }) { heldUntil = now + Self.span }
    }

    /// Forgets all deletes, because the user has decided about everything that was held.
    package mutating func clear() { (passed, heldUntil) = ([], nil) }
}
