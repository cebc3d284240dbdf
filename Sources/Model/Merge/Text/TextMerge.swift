/// Merges two edits of one text by lines, as `diff3` does.
///
/// Lines are compared without their endings (`\n`, `\r\n`, a lone `\r`), which are merged
/// separately: a line that neither side changed keeps its ending unless one side changed the
/// ending. If a side converted the endings of the whole text, the lines of the other side are
/// converted too.
///
/// The marks of checklists (`- [x]`) are compared separately, too, so ticks of adjacent items do not
/// meet; lines that both sides add to a checklist are both kept (`ChecklistMerge`).
///
/// A change of one side, or an identical change of both, is applied. If the two sides changed the
/// same or adjacent lines differently, `mine` wins.
package struct TextMerge: Sendable, Hashable {
    /// The merged text.
    package let text: String
    /// Whether a change of `theirs` was displaced by one of `mine`.
    package let hasConflict: Bool

    /// The maximum number of lines of one side for a comparison by lines. If it is exceeded and
    /// both sides changed, `mine` wins as a whole.
    private static let maximumLines = 200_000

    /// Merges `mine` and `theirs`. The time is proportional to the number of lines, multiplied by
    /// up to about 1000 if the sides differ everywhere.
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

    private static func merge(_ base: [Line], _ mine: [Line], _ theirs: [Line]) -> (lines: [Line], hasConflict: Bool) {
        let contents = base.map(\.content)
        var mineHunks = LineDiff.hunks(from: contents, to: mine.map(\.content))[...]
        var theirHunks = LineDiff.hunks(from: contents, to: theirs.map(\.content))[...]
        let (mineConversion, theirConversion) = (Conversion(from: base, to: mine), Conversion(from: base, to: theirs))
        var result: [Line] = []
        result.reserveCapacity(max(mine.count, theirs.count))
        var hasConflict = false
        var place = 0
        // The offsets of each side's lines relative to the lines of the base at `place`.
        var (mineShift, theirShift) = (0, 0)
        func takeUnchanged(upTo end: Int) {
            for index in place..<end {
                let (old, my, their) = (base[index], mine[index + mineShift], theirs[index + theirShift])
                result.append(my.merged(with: their, base: old, &hasConflict))
            }
        }
        while let start = [mineHunks.first, theirHunks.first].compactMap({ $0?.old.lowerBound }).min() {
            takeUnchanged(upTo: start)
            var end = start
            let (mineStart, theirStart) = (start + mineShift, start + theirShift)
            var (didMine, didTheirs) = (false, false)
            // A region grows while a hunk of either side starts in it or directly at its end.
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
            let baseLines = base[start..<end]
            let mineLines = mine[mineStart..<(end + mineShift)].map { theirConversion.applied(to: $0) }[...]
            let theirLines = theirs[theirStart..<(end + theirShift)].map { mineConversion.applied(to: $0) }[...]
            // A side that has no hunk here may have changed marks.
            didMine = didMine || !mineLines.elementsEqual(baseLines, by: { $0.mark == $1.mark })
            didTheirs = didTheirs || !theirLines.elementsEqual(baseLines, by: { $0.mark == $1.mark })
            if didMine, didTheirs, !mineLines.elementsEqual(theirLines, by: { $0.isSame(as: $1) }) {
                let merge = ChecklistMerge(base: baseLines, mine: mineLines, theirs: theirLines)
                result += merge?.lines ?? Array(mineLines)
                if merge?.hasConflict ?? true { hasConflict = true }
            } else {
                result += didMine ? mineLines : theirLines
            }
            place = end
        }
        takeUnchanged(upTo: base.count)
        return (result, hasConflict)
    }
}

/// A line of one of the three texts.
struct Line {
    /// A number that is equal for lines with equal content, apart from the marks of checklists.
    let content: Int
    /// A number like `content` that is also equal for a last line without an ending.
    let text: Int
    /// The character in brackets of an item of a checklist; nil for any other line.
    var mark: UInt8?
    var ending: Ending
    /// The bytes of the line, with a space as the mark, to order lines by.
    let order: ArraySlice<UInt8>

    func isSame(as other: Line) -> Bool { content == other.content && mark == other.mark }

    /// Returns the line with the changes that each side made of its ending and mark. If both
    /// changed the mark differently, this side's one is kept.
    func merged(with theirs: Line, base: Line, _ hasConflict: inout Bool) -> Line {
        var line = ending == base.ending ? theirs : self
        line.mark = mark == base.mark ? theirs.mark : mark
        if mark != base.mark, theirs.mark != base.mark, mark != theirs.mark { hasConflict = true }
        return line
    }

    enum Ending: String {
        /// The last line, without an ending.
        case none = ""
        case lineFeed = "\n"
        case carriageReturnLineFeed = "\r\n"
        case carriageReturn = "\r"
    }
}

/// A uniform change of all line endings by one side, for example by `dos2unix`.
private struct Conversion {
    private var change: (old: Line.Ending, new: Line.Ending)?

    init(from old: [Line], to new: [Line]) {
        guard let old = Self.ending(of: old), let new = Self.ending(of: new), old != new else { return }
        change = (old, new)
    }

    /// Returns the ending that all lines share; nil if there are several, or none.
    private static func ending(of lines: [Line]) -> Line.Ending? {
        guard let first = lines.first?.ending, first != .none else { return nil }
        return lines.allSatisfy { $0.ending == first || $0.ending == .none } ? first : nil
    }

    func applied(to line: Line) -> Line {
        guard let change, line.ending == change.old else { return line }
        var line = line
        line.ending = change.new
        return line
    }
}

/// Assigns equal numbers to lines with equal content. A last line without an ending differs from
/// the same line with an ending.
private struct LineNumbers {
    private struct Key: Hashable {
        var bytes: ArraySlice<UInt8>
        var isEnded: Bool
    }

    private var numbers: [Key: Int] = [:]
    private var lines: [(bytes: ArraySlice<UInt8>, markOffset: Int?)] = []

    mutating func lines(of text: String) -> [Line] {
        var bytes = Array(text.utf8)
        var parts: [(range: Range<Int>, ending: Line.Ending, item: ChecklistLine?)] = []
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? bytes.count
            let ending: Line.Ending =
                end == bytes.count
                ? .none
                : bytes[end] == 0x0A
                    ? .lineFeed
                    : end + 1 < bytes.count && bytes[end + 1] == 0x0A ? .carriageReturnLineFeed : .carriageReturn
            let item = ChecklistLine(bytes[start..<end])
            if let item { bytes[start + item.markOffset] = ChecklistLine.open }
            parts.append((start..<end, ending, item))
            start = end + ending.rawValue.utf8.count
        }
        return parts.map { range, ending, item in
            let line = bytes[range]
            let content = number(Key(bytes: line, isEnded: ending != .none), item)
            let text = ending == .none ? number(Key(bytes: line, isEnded: true), item) : content
            return Line(content: content, text: text, mark: item?.mark, ending: ending, order: line)
        }
    }

    private mutating func number(_ key: Key, _ item: ChecklistLine?) -> Int {
        if let number = numbers[key] { return number }
        numbers[key] = lines.count
        lines.append((key.bytes, item?.markOffset))
        return lines.count - 1
    }

    func text(of merged: [Line]) -> String {
        var bytes: [UInt8] = []
        var ending = Line.Ending.lineFeed
        for (index, line) in merged.enumerated() {
            let (content, markOffset) = lines[line.content]
            if let markOffset, let mark = line.mark {
                bytes += content.prefix(markOffset) + CollectionOfOne(mark) + content.dropFirst(markOffset + 1)
            } else {
                bytes += content
            }
            if line.ending != .none { ending = line.ending }
            // A last line without an ending needs one if another line now follows it.
            bytes += (index < merged.count - 1 ? ending : line.ending).rawValue.utf8
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
