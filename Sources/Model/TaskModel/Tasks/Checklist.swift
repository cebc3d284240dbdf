import Merge

/// The items of the checklists in notes: lines such as `- [ ] Call Anna`, outside of code blocks.
package struct Checklist: Sendable, Hashable {
    /// One item.
    package struct Item: Sendable, Hashable {
        /// The text after the brackets.
        package var text: String
        /// Whether it is done.
        package var isDone: Bool
    }

    /// The items in order. Commands count them from 1.
    package private(set) var items: [Item] = []
    /// The number of items that are done.
    package var doneCount: Int { items.count { $0.isDone } }

    /// The places of the marks in the notes' bytes, one for each item.
    private var marks: [Int] = []
    private var bytes: [UInt8]

    package init(_ notes: String) {
        bytes = Array(notes.utf8)
        var fence: (byte: UInt8, count: Int)?
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? bytes.count
            let line = bytes[start..<end]
            let text = line.drop { $0 == UInt8(ascii: " ") }
            let run = text.first.map { first in text.prefix { $0 == first }.count } ?? 0
            if run >= 3, let first = text.first, first == UInt8(ascii: "`") || first == UInt8(ascii: "~") {
                if let open = fence {
                    if open.byte == first, run >= open.count { fence = nil }
                } else {
                    fence = (first, run)
                }
            } else if fence == nil, let item = ChecklistLine(line) {
                marks.append(start + item.markOffset)
                let rest = line.dropFirst(item.markOffset + 2).drop { $0 == UInt8(ascii: " ") }
                items.append(Item(text: String(decoding: rest, as: UTF8.self), isDone: item.isDone))
            }
            start = end + 1
        }
    }

    /// Marks the items with the given numbers, counted from 1, as done or open. An item that already
    /// is keeps its mark.
    ///
    /// - Returns: Whether there are items with all these numbers; otherwise nothing is changed.
    package mutating func mark(_ numbers: some Sequence<Int>, isDone: Bool) -> Bool {
        guard numbers.allSatisfy({ $0 >= 1 && $0 <= items.count }) else { return false }
        for place in numbers.map({ $0 - 1 }) where items[place].isDone != isDone {
            items[place].isDone = isDone
            bytes[marks[place]] = isDone ? ChecklistLine.done : ChecklistLine.open
        }
        return true
    }

    /// The notes with the marks.
    package var notes: String { String(decoding: bytes, as: UTF8.self) }
}
