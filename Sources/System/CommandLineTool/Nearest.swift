/// Returns the candidate that a misspelled word most likely stands for; nil if none is close.
///
/// The number of edits is at most a third of the word's length, or one.
package func nearest(to word: String, in candidates: [String]) -> String? {
    let limit = max(1, word.count / 3)
    return candidates.map { ($0, editDistance(word, $0)) }.filter { $0.1 <= limit }.min { $0.1 < $1.1 }?.0
}

/// Returns the number of insertions, deletions, replacements and transpositions of neighbors
/// (optimal string alignment distance).
private func editDistance(_ left: String, _ right: String) -> Int {
    let a = Array(left)
    let b = Array(right)
    var beforeLast = [Int](repeating: 0, count: b.count + 1)
    var last = Array(0...b.count)
    for i in a.indices {
        var row = [i + 1]
        for j in b.indices {
            var cost = min(row[j] + 1, last[j + 1] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
            if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = min(cost, beforeLast[j - 1] + 1) }
            row.append(cost)
        }
        beforeLast = last
        last = row
    }
    return last[b.count]
}
