/// Merges two edits of one text by lines, as `diff3` does.
///
/// Changes of one side alone are taken, so is a change that both made alike. Where the two changed the same or touching lines
/// differently, mine stands.
package struct TextMerge: Sendable, Hashable {
    /// The merged text; its lines are those of the two sides, line ends included.
    package let text: String
    /// Whether something of theirs gave way to mine.
    package let hasConflict: Bool

    /// Beyond so many lines on one side the texts are not compared line by line: if both changed, mine stands as a whole.
    private static let maximumLines = 200_000

    /// Takes time in proportion to the lines, times at most about 1000 where both sides differ everywhere.
    package init(base: String, mine: String, theirs: String) {
        if mine.utf8.elementsEqual(theirs.utf8) || theirs.utf8.elementsEqual(base.utf8) {
            (text, hasConflict) = (mine, false)
            return
        }
        if mine.utf8.elementsEqual(base.utf8) {
            (text, hasConflict) = (theirs, false)
            return
        }
        var numbers = LineNumbers()
        let sides = [base, mine, theirs].map { numbers.lines(of: $0) }
        guard sides.allSatisfy({ $0.count <= Self.maximumLines }) else {
            (text, hasConflict) = (mine, true)
            return
        }
        let (lines, isConflict) = Self.merge(sides[0], sides[1], sides[2])
        text = numbers.text(of: lines)
        hasConflict = isConflict
    }

    private static func merge(_ base: [Int], _ mine: [Int], _ theirs: [Int]) -> (lines: [Int], hasConflict: Bool) {
        var mineHunks = LineDiff.hunks(from: base, to: mine)[...]
        var theirHunks = LineDiff.hunks(from: base, to: theirs)[...]
        var result: [Int] = []
        result.reserveCapacity(max(mine.count, theirs.count))
        var hasConflict = false
        var place = 0
        // How far each side's lines are ahead of the base's at `place`.
        var (mineShift, theirShift) = (0, 0)
        while let start = [mineHunks.first, theirHunks.first].compactMap({ $0?.old.lowerBound }).min() {
            result += base[place..<start]
            var end = start
            let (mineStart, theirStart) = (start + mineShift, start + theirShift)
            var (didMine, didTheirs) = (false, false)
            // A region grows as long as a hunk of either side starts in it or right at its end.
            while true {
                if let hunk = mineHunks.first, hunk.old.lowerBound <= end {
                    (end, didMine) = (max(end, hunk.old.upperBound), true)
                    mineShift += hunk.new.count - hunk.old.count
                    mineHunks.removeFirst()
                } else if let hunk = theirHunks.first, hunk.old.lowerBound <= end {
                    (end, didTheirs) = (max(end, hunk.old.upperBound), true)
                    theirShift += hunk.new.count - hunk.old.count
                    theirHunks.removeFirst()
                } else {
                    break
                }
            }
            let mineLines = mine[mineStart..<(end + mineShift)]
            let theirLines = theirs[theirStart..<(end + theirShift)]
            result += didMine ? mineLines : theirLines
            if didMine, didTheirs, mineLines != theirLines { hasConflict = true }
            place = end
        }
        return (result + base[place...], hasConflict)
    }
}

/// Gives equal lines equal numbers. A line includes its line feed; a last line without one is another line.
private struct LineNumbers {
    private var numbers: [ArraySlice<UInt8>: Int] = [:]
    private var lines: [ArraySlice<UInt8>] = []

    mutating func lines(of text: String) -> [Int] {
        let bytes = Array(text.utf8)
        var result: [Int] = []
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? bytes.count
            let line = bytes[start..<end]
            if let number = numbers[line] {
                result.append(number)
            } else {
                numbers[line] = lines.count
                result.append(lines.count)
                lines.append(line)
            }
            start = end
        }
        return result
    }

    func text(of numbers: [Int]) -> String {
        var bytes: [UInt8] = []
        for number in numbers {
            // A last line without line feed that another line now follows must not run into it.
            if let last = bytes.last, last != UInt8(ascii: "\n") { bytes.append(UInt8(ascii: "\n")) }
            bytes += lines[number]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
