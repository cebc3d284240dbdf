/// Columns of text, aligned; the last one is cut on a narrow terminal, not wrapped.
struct Table {
    private var rows: [[String]] = []

    /// Adds a row. What a cell says may come from another person, and is shown as `printable`.
    mutating func add(_ cells: [String]) { rows.append(cells.map(\.printable)) }

    /// The lines. Columns in which every cell is empty are left out.
    func lines(width: Int?, style: (_ column: Int, _ cell: String) -> String) -> [String] {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            rows.map { $0.indices.contains(column) ? $0[column].columns : 0 }.max() ?? 0
        }
        return rows.map { row in
            var line = ""
            var used = 0
            for (column, cell) in row.enumerated() where widths[column] > 0 {
                if used > 0 {
                    line += "  "
                    used += 2
                }
                var cell = cell
                if let width, used + cell.columns > width { cell = cell.cut(to: max(1, width - used)) }
                line += style(column, cell)
                used += cell.columns
                let padding = widths[column] - cell.columns
                guard column < row.count - 1, padding > 0 else { continue }
                line += String(repeating: " ", count: padding)
                used += padding
            }
            while line.last == " " { line.removeLast() }
            return line
        }
    }
}

extension String {
    /// Columns that the text takes on a terminal: two for wide East Asian characters and emoji.
    var columns: Int {
        if utf8.allSatisfy({ $0 < 0x80 }) { return utf8.count }
        return reduce(0) { $0 + ($1.isWide ? 2 : 1) }
    }

    /// The beginning that fits into `limit` columns, with an ellipsis where something was left out.
    func cut(to limit: Int) -> String {
        guard columns > limit else { return self }
        var text = ""
        var used = 0
        for character in self {
            let width = character.isWide ? 2 : 1
            guard used + width < limit else { break }
            text.append(character)
            used += width
        }
        return text + "…"
    }
}

extension Character {
    fileprivate var isWide: Bool {
        guard let scalar = unicodeScalars.first, scalar.value >= 0x1100 else { return false }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
            return true
        default: return scalar.properties.isEmojiPresentation
        }
    }
}
