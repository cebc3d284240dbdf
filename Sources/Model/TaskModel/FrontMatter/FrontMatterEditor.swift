import YAML

/// Collects edits of front matter that touch only the bytes of the edited keys.
struct FrontMatterEditor {
    private let bytes: [UInt8]
    private let pairs: [YAMLPair]
    private let lineEnding: String
    /// The column of the top-level keys.
    private let indent: Int
    private(set) var edits = ByteEdits()
    /// Whole lines to be added before the closing line.
    private(set) var appended = ""

    init(_ bytes: [UInt8], pairs: [YAMLPair], lineEnding: String, indent: Int) {
        self.bytes = bytes
        self.pairs = pairs
        self.lineEnding = lineEnding
        self.indent = indent
    }

    /// Returns `text` as it follows a colon: on the same line after a space, or on the following
    /// lines if it starts with a line break.
    static func attached(_ text: String) -> String {
        text.isEmpty || text.hasPrefix("\n") ? text : " " + text
    }

    /// Sets the value of a key to `text`, which has the form described at `CustomValue`. Comments
    /// on the key's line are kept.
    mutating func set(_ pair: YAMLPair, to text: String) {
        let value = pair.value.span
        let colon = endOfColon(pair)
        let local = localized(text)
        let isBlock = text.hasPrefix("\n")
        let end = pair.value.isAbsent ? colon : value.upperBound
        if Self.keepsBreaks(text) { removeBlankLines(after: end) }
        switch (isBlock, valueLineBreak(pair)) {
        case (false, _) where Self.isBlockScalar(text):
            // A block scalar would absorb comments before and after it.
            moveComments(in: colon..<max(colon, pair.value.isAbsent ? colon : value.lowerBound), above: pair)
            moveComments(in: end..<endOfLine(end), above: pair)
            edits.replace(colon..<endOfLine(end), with: " " + local)
        case (true, let start?):
            moveComments(in: end..<endOfLine(end), above: pair)
            edits.replace(start..<endOfLine(end), with: local)
        case (false, let start?):
            edits.insert(Self.attached(local), at: colon)
            edits.replace(start..<end, with: "")
        case (true, nil):
            edits.replace(colon..<end, with: "")
            edits.insert(local, at: endOfLine(end))
        case (false, nil) where pair.value.isAbsent || text.isEmpty:
            edits.replace(colon..<end, with: Self.attached(local))
        case (false, nil): edits.replace(value, with: local)
        }
    }

    /// Replaces a part of a value.
    mutating func replace(_ range: Range<Int>, with text: String) {
        edits.replace(range, with: text)
    }

    /// Removes the lines of a key, including a comment at the end of the last one.
    mutating func remove(_ pair: YAMLPair) {
        let end = pair.value.isAbsent ? endOfColon(pair) : pair.value.span.upperBound
        edits.replace(startOfLine(pair.key.span.lowerBound)..<startOfNextLine(end), with: "")
        let before = pairs.last { $0.key.span.lowerBound < pair.key.span.lowerBound }?.value
        if let before, Self.keepsBreaks(String(decoding: bytes[before.span], as: UTF8.self)) {
            removeBlankLines(after: end)
        }
    }

    mutating func append(_ key: String, _ text: String) {
        let name = YAMLScalarWriter(.key).write(key)
        appended += String(repeating: " ", count: indent) + name + ":" + localized(Self.attached(text)) + lineEnding
    }

    func startOfLine(_ offset: Int) -> Int {
        bytes[..<offset].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    }

    func startOfNextLine(_ offset: Int) -> Int {
        bytes[offset...].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? bytes.count
    }

    /// Returns text with the file's line endings and with continuation lines indented like the
    /// keys.
    func localized(_ text: String) -> String {
        guard indent > 0 || lineEnding != "\n", text.utf8.contains(UInt8(ascii: "\n")) else { return text }
        let pad = String(repeating: " ", count: indent)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.enumerated().map { $0 == 0 || $1.isEmpty ? String($1) : pad + $1 }.joined(separator: lineEnding)
    }

    private static func isBlockScalar(_ text: String) -> Bool {
        (text.hasPrefix("|") || text.hasPrefix(">")) && text.utf8.contains(UInt8(ascii: "\n"))
    }

    /// Whether `text` is a block scalar that includes the blank lines after it.
    private static func keepsBreaks(_ text: String) -> Bool {
        isBlockScalar(text) && text.prefix { !$0.isNewline && $0 != "#" }.contains("+")
    }

    /// Copies the comments of a range, which the caller removes, to separate lines before a key.
    private mutating func moveComments(in range: Range<Int>, above pair: YAMLPair) {
        let pad = String(repeating: " ", count: indent)
        for line in bytes[range].split(separator: UInt8(ascii: "\n")) {
            guard let start = line.firstIndex(of: UInt8(ascii: "#")) else { continue }
            let comment = line[start...].filter { $0 != 0x0D }
            edits.insert(
                pad + String(decoding: comment, as: UTF8.self) + lineEnding, at: startOfLine(pair.key.span.lowerBound))
        }
    }

    private mutating func removeBlankLines(after offset: Int) {
        let start = startOfNextLine(offset)
        var end = start
        while end < bytes.count {
            let next = startOfNextLine(end)
            guard next > end, bytes[end..<next].allSatisfy({ $0 == 0x20 || $0 == 0x0D || $0 == 0x0A }) else { break }
            end = next
        }
        edits.replace(start..<end, with: "")
    }

    /// Returns the offset of the line break that ends the line at `offset`.
    private func endOfLine(_ offset: Int) -> Int {
        guard let lineFeed = bytes[offset...].firstIndex(of: UInt8(ascii: "\n")) else { return bytes.count }
        return lineFeed > offset && bytes[lineFeed - 1] == 0x0D ? lineFeed - 1 : lineFeed
    }

    /// Returns the offset of the line break before a value that starts on a line of its own; nil if
    /// it starts on the line of its colon.
    private func valueLineBreak(_ pair: YAMLPair) -> Int? {
        let start = pair.value.span.lowerBound
        guard !pair.value.isAbsent else { return nil }
        let colon = endOfColon(pair)
        guard colon <= start, let lineFeed = bytes[colon..<start].lastIndex(of: UInt8(ascii: "\n")) else { return nil }
        return lineFeed > colon && bytes[lineFeed - 1] == 0x0D ? lineFeed - 1 : lineFeed
    }

    /// Returns the offset after the colon of a pair; the key's end if there is no colon (`? key`
    /// alone).
    private func endOfColon(_ pair: YAMLPair) -> Int {
        var offset = pair.key.span.upperBound
        while offset < bytes.count {
            switch bytes[offset] {
            case UInt8(ascii: ":"): return offset + 1
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), 0x0D: offset += 1
            case UInt8(ascii: "#"): offset = startOfNextLine(offset)
            default: return pair.key.span.upperBound
            }
        }
        return pair.key.span.upperBound
    }
}
