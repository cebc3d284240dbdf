/// Decides which files that went back to an older version are sent as edits, and which wait for
/// approval. Pure.
///
/// An old backup that is copied over the tasks directory would take back the work of every machine.
/// More than `floor` tasks that are also more than `share` of all within `window` are held.
struct RevertGuard {
    var floor = 10
    var share = 0.2
    var window: Duration = .seconds(60)
    /// More reverts than this at once may be the first of many: they wait until no more come.
    var few = 2

    /// When the reverts of tasks were let through.
    private var passed: [String: Duration] = [:]

    /// Whether the reverts of `tasks` may be the first of many.
    func mayBeMany(_ tasks: [String], held: Int, following: Int, at now: Duration) -> Bool {
        let recent = passed.filter { $0.value + window >= now }.keys
        return !tasks.isEmpty && Set(recent).union(tasks).count + held + following > few
    }

    /// Whether the reverts of `tasks` are held.
    ///
    /// - Parameters:
    ///   - held: The number of reverts that are held already.
    ///   - taskCount: The number of all tasks.
    ///   - now: The time by a monotonic clock.
    mutating func holds(
        _ tasks: [String], held: Int = 0, of taskCount: Int, at now: Duration
    ) -> Bool {
        guard !tasks.isEmpty else { return false }
        passed = passed.filter { $0.value + window >= now }
        let total = Set(passed.keys).union(tasks).count + held
        guard total > floor, Double(total) > share * Double(taskCount) else {
            for task in tasks { passed[task] = now }
            return false
        }
        return true
    }
}
