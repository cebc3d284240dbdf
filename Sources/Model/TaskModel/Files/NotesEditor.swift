/// Replaces notes by a text whose line endings are not significant, such as a command's argument.
package enum NotesEditor {
    /// Returns the new notes.
    ///
    /// Unchanged lines at the start and end keep their bytes; other lines get the ending of the
    /// first old line. A text that contains carriage returns is taken byte for byte.
    package static func notes(_ old: String, changedTo new: String) -> String {
        guard old.utf8.contains(0x0D), !new.utf8.contains(0x0D) else { return new }
        let lineEnding = TaskFileLayout.lineEnding(Array(old.utf8))
        let oldLines = lines(Array(old.utf8)[...])
        let newLines = lines(Array(new.utf8)[...])
        let shorter = min(oldLines.count, newLines.count)
        var prefix = 0
        while prefix < shorter, isSame(oldLines[prefix], newLines[prefix]) { prefix += 1 }
        var suffix = 0
        while suffix < shorter - prefix,
            isSame(oldLines[oldLines.count - 1 - suffix], newLines[newLines.count - 1 - suffix])
        {
            suffix += 1
        }
        let changed = newLines[prefix..<(newLines.count - suffix)].joined()
        let middle =
            lineEnding == "\n" ? Array(changed) : changed.flatMap { $0 == UInt8(ascii: "\n") ? [0x0D, $0] : [$0] }
        let bytes = oldLines.prefix(prefix).joined() + middle + oldLines.suffix(suffix).joined()
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Splits bytes into lines, including their line feeds.
    private static func lines(_ bytes: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        var lines: [ArraySlice<UInt8>] = []
        var start = bytes.startIndex
        for index in bytes.indices where bytes[index] == UInt8(ascii: "\n") {
            lines.append(bytes[start...index])
            start = index + 1
        }
        if start < bytes.endIndex { lines.append(bytes[start...]) }
        return lines
    }

    /// Whether two lines have the same content. Carriage returns before the old line's line feed
    /// are ignored.
    private static func isSame(_ old: ArraySlice<UInt8>, _ new: ArraySlice<UInt8>) -> Bool {
        guard old.last == UInt8(ascii: "\n"), new.last == UInt8(ascii: "\n") else { return old == new }
        var content = old.dropLast()
        while content.last == 0x0D { content.removeLast() }
        return content == new.dropLast()
    }
}
