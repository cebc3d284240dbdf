/// Finds the word that a misspelled word most likely stands for.
package enum NearestWord {
    /// Returns the candidate with the fewest edits (insertion, deletion, replacement, transposition
    /// of neighbors) from `word`; the first one if several are equal.
    ///
    /// Returns nil if the best candidate needs more edits than half the length of the longer word.
    package static func to(_ word: String, among candidates: [String]) -> String? {
        let scored = candidates.map { (candidate: $0, distance: distance(word, $0)) }
        guard let best = scored.min(by: { $0.distance < $1.distance }) else { return nil }
        return best.distance * 2 <= max(word.count, best.candidate.count) ? best.candidate : nil
    }

    private static func distance(_ left: String, _ right: String) -> Int {
        // Words are cut, because no key is that long and the time is quadratic in the length.
        let a = Array(left.lowercased().utf8.prefix(100))
        let b = Array(right.lowercased().utf8.prefix(100))
        var beforeLast = [Int](repeating: 0, count: b.count + 1)
        var last = Array(0...b.count)
        for i in a.indices {
            var row = [i + 1]
            row.reserveCapacity(b.count + 1)
            for j in b.indices {
                var best = min(row[j] + 1, last[j + 1] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, beforeLast[j - 1] + 1) }
                row.append(best)
            }
            (beforeLast, last) = (last, row)
        }
        return last[b.count]
    }
}
