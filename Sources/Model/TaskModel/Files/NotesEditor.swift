/// Replaces a task file's body, keeping the bytes of the lines at its start and end that stay.
enum NotesEditor {
    /// - Parameter notes: as `TaskItem.notes`.
    static func body(_ old: ArraySlice<UInt8>, changedTo notes: String, lineEnding: String) -> [UInt8] {
        let oldLines = lines(old)
        let newLines = lines(Array(notes.utf8)[...])
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
        return oldLines.prefix(prefix).joined() + middle + oldLines.suffix(suffix).joined()
    }

    /// With their line feeds.
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

    /// Whether a line of the file says what a line of notes says: carriage returns before the line feed do not count.
    private static func isSame(_ old: ArraySlice<UInt8>, _ new: ArraySlice<UInt8>) -> Bool {
        guard old.last == UInt8(ascii: "\n"), new.last == UInt8(ascii: "\n") else { return old == new }
        var content = old.dropLast()
        while content.last == 0x0D { content.removeLast() }
        return content == new.dropLast()
    }
}
