/// A line of Markdown that is an item of a checklist, such as `- [x] Call Anna`.
///
/// It begins with `-`, `*`, `+` or a number, after any indentation, and has one character in
/// brackets. Its other text is taken as it is.
package struct ChecklistLine: Sendable, Hashable {
    /// The offset of the character in brackets from the start of the line.
    package let markOffset: Int
    /// The character in brackets: a space if the item is open, `x` or `X` if it is done. Other
    /// characters have meanings in other apps, and are open here.
    package let mark: UInt8

    package static let open = UInt8(ascii: " ")
    package static let done = UInt8(ascii: "x")

    /// Whether the item is done.
    package var isDone: Bool { mark == Self.done || mark == UInt8(ascii: "X") }

    /// Reads a line without its line ending; nil if it is not an item.
    package init?(_ line: some RandomAccessCollection<UInt8>) {
        var rest = line.drop { Self.isBlank($0) }
        switch rest.first {
        case UInt8(ascii: "-")?, UInt8(ascii: "*")?, UInt8(ascii: "+")?: rest = rest.dropFirst()
        case (UInt8(ascii: "0")...UInt8(ascii: "9"))?:
            let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            rest = rest.dropFirst(digits.count)
            guard digits.count < 10, rest.first == UInt8(ascii: ".") || rest.first == UInt8(ascii: ")") else {
                return nil
            }
            rest = rest.dropFirst()
        default: return nil
        }
        guard rest.first.map(Self.isBlank) ?? false else { return nil }
        rest = rest.drop { Self.isBlank($0) }
        let box = Array(rest.prefix(4))
        guard box.count >= 3, box[0] == UInt8(ascii: "["), box[2] == UInt8(ascii: "]"),
            (0x20..<0x7F).contains(box[1]), box[1] != UInt8(ascii: "]"), box.count == 3 || Self.isBlank(box[3])
        else { return nil }
        mark = box[1]
        markOffset = line.count - rest.count + 1
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
