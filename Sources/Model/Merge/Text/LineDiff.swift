/// The lines that differ between two sequences: the shortest edit script of Myers, found in linear
/// space from both ends.
///
/// Follows xdiff (git's diff) step by step, including the sliding of changes, so that the two diffs
/// of a three-way merge place a change among repeated lines identically. A part whose shortest
/// script costs more than `maximumCost` is split at the furthest point reached. This limits the
/// time to about 512 steps per line and gives a correct script that may be longer.
struct LineDiff {
    /// A run of lines of `old` that became a run of lines of `new`. One of the two may be empty.
    struct Hunk: Equatable {
        var old: Range<Int>
        var new: Range<Int>
    }

    private static let maximumCost = 256

    private var old: DiffSide
    private var new: DiffSide
    private var forward: [Int] = []
    private var backward: [Int] = []
    private var origin = 0

    /// Returns the hunks in order, with at least one equal line between any two. Lines are compared
    /// by their numbers.
    static func hunks(from old: [Int], to new: [Int]) -> [Hunk] {
        var diff = LineDiff(old, new)
        diff.compare()
        diff.old.slideChanges(beside: diff.new)
        diff.new.slideChanges(beside: diff.old)
        return diff.collect()
    }

    private init(_ old: [Int], _ new: [Int]) {
        self.old = DiffSide(old)
        self.new = DiffSide(new)
    }

    /// Marks the changed lines. Equal lines at both ends, and lines that only one side has, are
    /// excluded from the search.
    private mutating func compare() {
        let shorter = min(old.lines.count, new.lines.count)
        var start = 0
        while start < shorter, old.lines[start] == new.lines[start] { start += 1 }
        var tail = 0
        while tail < shorter - start,
            old.lines[old.lines.count - 1 - tail] == new.lines[new.lines.count - 1 - tail]
        {
            tail += 1
        }
        let oldRange = start..<(old.lines.count - tail)
        let newRange = start..<(new.lines.count - tail)
        let oldLines = Set(old.lines[oldRange])
        let newLines = Set(new.lines[newRange])
        old.classify(oldRange) { !newLines.contains($0) }
        new.classify(newRange) { !oldLines.contains($0) }
        let diagonals = old.shared.count + new.shared.count + 3
        forward = [Int](repeating: 0, count: diagonals)
        backward = forward
        origin = new.shared.count + 1
        var parts = [(0..<old.shared.count, 0..<new.shared.count)]
        while let (oldPart, newPart) = parts.popLast() { compare(oldPart, newPart, &parts) }
    }

    private mutating func compare(
        _ oldPart: Range<Int>, _ newPart: Range<Int>, _ parts: inout [(Range<Int>, Range<Int>)]
    ) {
        var (off1, lim1) = (oldPart.lowerBound, oldPart.upperBound)
        var (off2, lim2) = (newPart.lowerBound, newPart.upperBound)
        while off1 < lim1, off2 < lim2, old.line(off1) == new.line(off2) {
            off1 += 1
            off2 += 1
        }
        while off1 < lim1, off2 < lim2, old.line(lim1 - 1) == new.line(lim2 - 1) {
            lim1 -= 1
            lim2 -= 1
        }
        if off1 == lim1 {
            for index in off2..<lim2 { new.isChanged[new.shared[index]] = true }
        } else if off2 == lim2 {
            for index in off1..<lim1 { old.isChanged[old.shared[index]] = true }
        } else {
            let middle = split(off1..<lim1, off2..<lim2)
            parts.append((off1..<middle.old, off2..<middle.new))
            parts.append((middle.old..<lim1, middle.new..<lim2))
        }
    }

    /// Returns a point on a shortest path through the rectangle of both ranges, or on a
    /// furthest-reaching path if the shortest is too expensive.
    private mutating func split(_ oldPart: Range<Int>, _ newPart: Range<Int>) -> (old: Int, new: Int) {
        let (off1, lim1) = (oldPart.lowerBound, oldPart.upperBound)
        let (off2, lim2) = (newPart.lowerBound, newPart.upperBound)
        let (lowest, highest) = (off1 - lim2, lim1 - off2)
        let (forwardMiddle, backwardMiddle) = (off1 - off2, lim1 - lim2)
        let isOdd = (forwardMiddle - backwardMiddle) & 1 != 0
        var (fmin, fmax, bmin, bmax) = (forwardMiddle, forwardMiddle, backwardMiddle, backwardMiddle)
        forward[origin + forwardMiddle] = off1
        backward[origin + backwardMiddle] = lim1
        var cost = 0
        while cost < Self.maximumCost {
            cost += 1
            if fmin > lowest {
                fmin -= 1
                forward[origin + fmin - 1] = -1
            } else {
                fmin += 1
            }
            if fmax < highest {
                fmax += 1
                forward[origin + fmax + 1] = -1
            } else {
                fmax -= 1
            }
            for diagonal in stride(from: fmax, through: fmin, by: -2) {
                let (below, above) = (forward[origin + diagonal - 1], forward[origin + diagonal + 1])
                var i1 = below >= above ? below + 1 : above
                var i2 = i1 - diagonal
                while i1 < lim1, i2 < lim2, old.line(i1) == new.line(i2) {
                    i1 += 1
                    i2 += 1
                }
                forward[origin + diagonal] = i1
                if isOdd, bmin <= diagonal, diagonal <= bmax, backward[origin + diagonal] <= i1 { return (i1, i2) }
            }
            if bmin > lowest {
                bmin -= 1
                backward[origin + bmin - 1] = .max
            } else {
                bmin += 1
            }
            if bmax < highest {
                bmax += 1
                backward[origin + bmax + 1] = .max
            } else {
                bmax -= 1
            }
            for diagonal in stride(from: bmax, through: bmin, by: -2) {
                let (below, above) = (backward[origin + diagonal - 1], backward[origin + diagonal + 1])
                var i1 = below < above ? below : above - 1
                var i2 = i1 - diagonal
                while i1 > off1, i2 > off2, old.line(i1 - 1) == new.line(i2 - 1) {
                    i1 -= 1
                    i2 -= 1
                }
                backward[origin + diagonal] = i1
                if !isOdd, fmin <= diagonal, diagonal <= fmax, i1 <= forward[origin + diagonal] { return (i1, i2) }
            }
        }
        return furthest(oldPart, newPart, fmin...fmax, bmin...bmax)
    }

    private func furthest(
        _ oldPart: Range<Int>, _ newPart: Range<Int>, _ forwards: ClosedRange<Int>, _ backwards: ClosedRange<Int>
    ) -> (old: Int, new: Int) {
        var ahead = (old: oldPart.lowerBound, new: newPart.lowerBound)
        for diagonal in stride(from: forwards.upperBound, through: forwards.lowerBound, by: -2) {
            var i1 = min(forward[origin + diagonal], oldPart.upperBound)
            if i1 - diagonal > newPart.upperBound { i1 = newPart.upperBound + diagonal }
            if ahead.old + ahead.new < i1 + i1 - diagonal { ahead = (i1, i1 - diagonal) }
        }
        var behind = (old: oldPart.upperBound, new: newPart.upperBound)
        for diagonal in stride(from: backwards.upperBound, through: backwards.lowerBound, by: -2) {
            var i1 = max(backward[origin + diagonal], oldPart.lowerBound)
            if i1 - diagonal < newPart.lowerBound { i1 = newPart.lowerBound + diagonal }
            if i1 + i1 - diagonal < behind.old + behind.new { behind = (i1, i1 - diagonal) }
        }
        let gained = ahead.old + ahead.new - oldPart.lowerBound - newPart.lowerBound
        let left = oldPart.upperBound + newPart.upperBound - behind.old - behind.new
        return left < gained ? ahead : behind
    }

    private func collect() -> [Hunk] {
        var hunks: [Hunk] = []
        var (i1, i2) = (0, 0)
        while i1 < old.lines.count || i2 < new.lines.count {
            let (start1, start2) = (i1, i2)
            while i1 < old.lines.count, old.isChanged[i1] { i1 += 1 }
            while i2 < new.lines.count, new.isChanged[i2] { i2 += 1 }
            if i1 > start1 || i2 > start2 {
                hunks.append(Hunk(old: start1..<i1, new: start2..<i2))
            } else {
                i1 += 1
                i2 += 1
            }
        }
        return hunks
    }
}
