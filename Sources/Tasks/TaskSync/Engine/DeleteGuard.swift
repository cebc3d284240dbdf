/// Decides which deletes that were seen in the tasks directory are sent, and which wait for approval. Pure.
///
/// More than `floor` tasks and more than `share` of all within `window` are held, whether they come
/// at once or in a drip: what was let through within the window counts too. Once deletes are held,
/// further ones of the same window are as well.
package struct DeleteGuard: Sendable {
    package var floor = 10
    package var share = 0.2
    package var window: Duration = .seconds(3600)

    /// When deletes were let through, oldest first.
    private var passed: [(time: Duration, count: Int)] = []
    private var heldUntil: Duration?

    package init() {}

    /// Whether `count` further deletes are to be held.
    /// - Parameters:
    ///   - following: how many more are seen to come right behind them.
    ///   - taskCount: how many tasks there are, these included.
    ///   - now: on a monotonic clock.
    package mutating func holds(_ count: Int, following: Int = 0, of taskCount: Int, at now: Duration) -> Bool {
        guard count > 0 else { return false }
        passed.removeAll { $0.time + window < now }
        let recent = passed.reduce(0) { $0 + $1.count }
        let total = recent + count + following
        let isTooMany = total > floor && Double(total) > share * Double(taskCount + recent)
        if isTooMany || heldUntil.map({ now < $0 }) == true {
            heldUntil = now + window
            return true
        }
        passed.append((now, count))
        return false
    }

    /// Somebody has decided about everything that was held.
    package mutating func settle() {
        heldUntil = nil
        passed = []
    }
}
