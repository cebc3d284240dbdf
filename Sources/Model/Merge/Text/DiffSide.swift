/// One of the two sequences of a diff, with the lines that the other one lacks.
struct DiffSide {
    let lines: [Int]
    var isChanged: [Bool]
    /// The indices of the lines that are compared.
    private(set) var shared: [Int] = []

    init(_ lines: [Int]) {
        self.lines = lines
        isChanged = [Bool](repeating: false, count: lines.count)
    }

    func line(_ index: Int) -> Int { lines[shared[index]] }

    /// Marks the lines of `range` that are unique to this side as changed, and adds the others to
    /// `shared`.
    mutating func classify(_ range: Range<Int>, where isUnique: (Int) -> Bool) {
        shared.reserveCapacity(range.count)
        for index in range {
            if isUnique(lines[index]) { isChanged[index] = true } else { shared.append(index) }
        }
    }

    /// Moves every run of changed lines that could equally be elsewhere (between repeated lines) to
    /// one defined place: as far down as possible, or next to a run of changes on the other side if
    /// there is one on the way.
    ///
    /// This is xdiff's `xdl_change_compact` without its indentation heuristic.
    mutating func slideChanges(beside other: DiffSide) {
        var run = Run(firstOf: self)
        var otherRun = Run(firstOf: other)
        while true {
            if !run.isEmpty { slide(&run, beside: other, &otherRun) }
            guard run.moveToNext(in: self) else { break }
            otherRun.moveToNext(in: other)
        }
    }

    private mutating func slide(_ run: inout Run, beside other: DiffSide, _ otherRun: inout Run) {
        var earliestEnd = 0
        var besideEnd: Int?
        var length: Int
        repeat {
            length = run.count
            besideEnd = nil
            while slideUp(&run) { otherRun.moveToPrevious(in: other) }
            earliestEnd = run.end
            if !otherRun.isEmpty { besideEnd = run.end }
            while slideDown(&run) {
                otherRun.moveToNext(in: other)
                if !otherRun.isEmpty { besideEnd = run.end }
            }
        } while length != run.count
        guard run.end != earliestEnd, besideEnd != nil else { return }
        while otherRun.isEmpty, slideUp(&run) { otherRun.moveToPrevious(in: other) }
    }

    private mutating func slideUp(_ run: inout Run) -> Bool {
        guard run.start > 0, lines[run.start - 1] == lines[run.end - 1] else { return false }
        run.start -= 1
        isChanged[run.start] = true
        run.end -= 1
        isChanged[run.end] = false
        while run.start > 0, isChanged[run.start - 1] { run.start -= 1 }
        return true
    }

    private mutating func slideDown(_ run: inout Run) -> Bool {
        guard run.end < lines.count, lines[run.start] == lines[run.end] else { return false }
        isChanged[run.start] = false
        run.start += 1
        isChanged[run.end] = true
        run.end += 1
        while run.end < lines.count, isChanged[run.end] { run.end += 1 }
        return true
    }
}

/// A maximal run of changed lines. There is one, possibly empty, before every unchanged line and
/// one at the end.
private struct Run {
    var start = 0
    var end = 0

    var isEmpty: Bool { start == end }
    var count: Int { end - start }

    init(firstOf side: DiffSide) {
        extend(in: side)
    }

    private mutating func extend(in side: DiffSide) {
        while end < side.lines.count, side.isChanged[end] { end += 1 }
    }

    @discardableResult
    mutating func moveToNext(in side: DiffSide) -> Bool {
        guard end < side.lines.count else { return false }
        start = end + 1
        end = start
        extend(in: side)
        return true
    }

    mutating func moveToPrevious(in side: DiffSide) {
        guard start > 0 else { return }
        end = start - 1
        start = end
        while start > 0, side.isChanged[start - 1] { start -= 1 }
    }
}
