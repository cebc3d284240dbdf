/// The targets that are watched, by how many, and which of them are up to date.
struct WatchedTargets {
    private var uses: [Int32: Int] = [:]
    /// The targets that the remote may refuse to watch.
    private var optional: Set<Int32> = []
    /// The optional targets that the remote has refused on the present stream.
    private var refused: Set<Int32> = []
    private(set) var current: Set<Int32> = []

    /// Whether every watched target is up to date, apart from optional ones that the remote refuses.
    var areCurrent: Bool { !current.isEmpty && current.union(refused).isSuperset(of: uses.keys) }

    mutating func setOptional(_ target: Int32) { optional.insert(target) }

    /// Counts a use of a target. Returns whether it is the first.
    mutating func use(_ target: Int32) -> Bool {
        uses[target, default: 0] += 1
        return uses[target] == 1
    }

    /// Takes a use of a target back. Returns whether it was the last.
    mutating func disuse(_ target: Int32) -> Bool {
        guard let count = uses[target] else { return false }
        guard count <= 1 else {
            uses[target] = count - 1
            return false
        }
        uses[target] = nil
        optional.remove(target)
        refused.remove(target)
        return true
    }

    /// Records that the remote refuses a target. Returns whether the target is optional.
    mutating func refuse(_ target: Int32) -> Bool {
        guard optional.contains(target) else { return false }
        refused.insert(target)
        return true
    }

    /// Records which targets are up to date. Returns those for which that has changed.
    mutating func setCurrent(_ targets: Set<Int32>) -> Set<Int32> {
        refused.subtract(targets)
        defer { current = targets }
        return targets.symmetricDifference(current)
    }

    /// Forgets what the remote has refused, because the stream has ended.
    mutating func forgetRefusals() { refused = [] }

    /// Forgets what is up to date, because nothing is watched any more.
    mutating func forgetCurrent() { current = [] }
}
