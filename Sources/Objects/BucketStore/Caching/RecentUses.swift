/// Paths in the order of their last use, with the sizes of their files.
struct RecentUses {
    private struct Use {
        let path: String
        let size: Int64
        let number: Int
    }

    private let limit: Int64
    /// All uses from `head` on, the oldest first. Only the last use of a path counts.
    private var uses: [Use] = []
    private var head = 0
    private var last: [String: Use] = [:]
    private var size: Int64 = 0
    private var count = 0

    /// Creates an empty list.
    ///
    /// - Parameter limit: The maximum number of bytes of all files together.
    init(limit: Int64) { self.limit = limit }

    /// Adds a use, and returns the files to drop.
    mutating func add(_ path: String, _ size: Int64) -> [String] {
        count += 1
        let use = Use(path: path, size: size, number: count)
        self.size += size - (last.updateValue(use, forKey: path)?.size ?? 0)
        uses.append(use)
        var old: [String] = []
        while head < uses.count, isStale(uses[head]) || self.size > limit {
            let use = uses[head]
            head += 1
            if isStale(use) { continue }
            remove(use.path)
            old.append(use.path)
        }
        compact()
        return old
    }

    mutating func remove(_ path: String) {
        if let use = last.removeValue(forKey: path) { size -= use.size }
    }

    private func isStale(_ use: Use) -> Bool { last[use.path]?.number != use.number }

    private mutating func compact() {
        guard head > 64 && head > uses.count / 2 || uses.count > 2 * last.count + 1024 else { return }
        uses = uses[head...].filter { !isStale($0) }
        head = 0
    }
}
