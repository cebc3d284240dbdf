/// The differences between the planner and `TaskSync` by their kinds.
package struct ShadowCounts: Sendable {
    /// The number of states that were compared.
    package private(set) var stateCount = 0
    package private(set) var nodeCount = 0
    /// The number of each kind of difference, with an example.
    package private(set) var kinds: [String: (count: Int, example: String)] = [:]
    /// The number of each kind of difference in which the planner is known to be right.
    package private(set) var explained: [String: Int] = [:]

    package init() {}

    mutating func add(_ differences: ShadowDifferences, after action: String, seed: UInt64) {
        stateCount += 1
        nodeCount += differences.nodeCount
        for (kind, example) in differences.found { add(kind, "after \(action), \(example)", seed: seed) }
        for (kind, _) in differences.explained { explain(kind, 1) }
    }

    private mutating func explain(_ kind: String, _ count: Int) { explained[kind, default: 0] += count }

    mutating func add(_ kind: String, _ example: String, seed: UInt64) {
        kinds[kind, default: (0, "seed \(seed) \(example)")].count += 1
    }

    /// Adds the counts of another run.
    package mutating func add(_ other: ShadowCounts) {
        stateCount += other.stateCount
        nodeCount += other.nodeCount
        for (kind, found) in other.kinds { kinds[kind, default: (0, found.example)].count += found.count }
        for (kind, count) in other.explained { explain(kind, count) }
    }

    /// The counts as text, the most frequent kind first.
    package var text: String {
        let lines = kinds.sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }.map { kind, found in
            "\(found.count) × \(kind)\n      \(found.example)"
        }
        let known = explained.sorted { $0.key < $1.key }.map { "\($0.value) × explained: \($0.key)" }
        let total = kinds.values.reduce(0) { $0 + $1.count }
        return (lines + known + ["\(total) differences in \(nodeCount) nodes of \(stateCount) states"]).joined(
            separator: "\n")
    }
}
