/// The positions of the parts of a task file.
struct TaskFileLayout {
    /// The offset after a byte-order mark, if there is one.
    var start: Int
    /// The range of the lines between `---` and `---` (or `...`); nil without front matter.
    var frontMatter: Range<Int>?
    /// The range after the closing line; without front matter, everything after the byte-order
    /// mark.
    var body: Range<Int>
    /// Whether the closing line ends the file without a line break.
    var isClosingLineOpen = false

    /// Finds the parts of a file.
    ///
    /// - Throws: `unterminatedFrontMatter`.
    init(_ bytes: [UInt8]) throws(TaskFileProblem) {
        start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        body = start..<bytes.count
        guard let opening = Self.line(bytes, at: start), Self.isMark(bytes[opening.content], "-") else { return }
        guard opening.next > opening.content.upperBound else { throw Self.unterminated }
        var offset = opening.next
        while let line = Self.line(bytes, at: offset) {
            if Self.isMark(bytes[line.content], "-") || Self.isMark(bytes[line.content], ".") {
                frontMatter = opening.next..<offset
                body = line.next..<bytes.count
                isClosingLineOpen = line.next == line.content.upperBound
                return
            }
            offset = line.next
        }
        throw Self.unterminated
    }

    /// Whether notes that start like this would be taken for front matter or a byte-order mark at
    /// the start of a file.
    static func isMistakable(_ notes: String) -> Bool {
        notes.utf8.starts(with: [0xEF, 0xBB, 0xBF])
            || isMark(ArraySlice(notes.utf8.prefix { $0 != UInt8(ascii: "\n") }), "-")
    }

    /// Returns the file's line ending, which is that of its first line.
    static func lineEnding(_ bytes: [UInt8]) -> String {
        guard let lineFeed = bytes.firstIndex(of: UInt8(ascii: "\n")), lineFeed > 0 else { return "\n" }
        return bytes[lineFeed - 1] == 0x0D ? "\r\n" : "\n"
    }

    private static let unterminated = TaskFileProblem(
        .unterminatedFrontMatter,
        "the file starts with --- but no second --- line ends the front matter; add it, or put a blank line first",
        line: 1)

    private static func line(_ bytes: [UInt8], at offset: Int) -> (content: Range<Int>, next: Int)? {
        guard offset < bytes.count else { return nil }
        let end = bytes[offset...].firstIndex(of: UInt8(ascii: "\n"))
        return (offset..<(end ?? bytes.count), end.map { $0 + 1 } ?? bytes.count)
    }

    /// Whether a line consists of three times the character, followed only by spaces, tabs and a
    /// carriage return.
    private static func isMark(_ line: ArraySlice<UInt8>, _ character: Unicode.Scalar) -> Bool {
        let mark = UInt8(ascii: character)
        guard line.count >= 3, line.prefix(3).allSatisfy({ $0 == mark }) else { return false }
        return line.dropFirst(3).allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == 0x0D }
    }
}
