/// Columns of text, aligned, one line for each row.
///
/// Where the lines do not fit the terminal, flexible columns are shortened to a few words, then
/// droppable ones are left out. At last the flexible columns are shortened further, and the line is
/// cut.
struct Table {
    /// A text, and a tail behind it that is kept when the text is shortened.
    struct Cell {
        var text: String
        var tail = ""

        fileprivate var columns: Int { text.columns + (tail.isEmpty ? 0 : tail.columns + (text.isEmpty ? 0 : 2)) }
    }

    /// The output for which the lines are made.
    struct Format {
        /// The columns of the terminal; nil is no limit.
        var width: Int?
        /// Whether the cursor can be placed, and right-to-left text be isolated.
        var usesControls = false
    }

    /// The column number with which tails are styled.
    static let tail = -1
    /// The columns that a shortened text keeps for as long as others can give way.
    private static let readableWidth = 12
    /// The columns that a text keeps before its tail.
    private static let leastBeforeTail = 8

    private var rows: [[Cell]] = []
    private let flexible: [Int]
    private let droppable: [Int]

    /// Creates a table.
    ///
    /// - Parameters:
    ///   - flexible: The columns that are shortened, first to last.
    ///   - droppable: The columns that are left out, first to last.
    init(flexible: [Int] = [], droppable: [Int] = []) {
        self.flexible = flexible
        self.droppable = droppable
    }

    /// Adds a row. What a cell says may come from another person, and is shown as `printable`.
    mutating func add(_ cells: [String]) { add(cells.map { Cell(text: $0) }) }

    mutating func add(_ cells: [Cell]) {
        rows.append(cells.map { Cell(text: $0.text.printable, tail: $0.tail.printable) })
    }

    /// The lines. Columns in which every cell is empty are left out.
    func lines(_ format: Format, style: (_ column: Int, _ cell: String) -> String) -> [String] {
        let widths = widths(format.width)
        return rows.map { row in
            var line = Line(format: format)
            for (column, cell) in row.enumerated() where widths[column] > 0 {
                line.add(cell, width: widths[column], style: style, column)
            }
            return line.text
        }
    }

    /// The width of each column; 0 for one that is left out.
    private func widths(_ limit: Int?) -> [Int] {
        var widths = (0..<(rows.map(\.count).max() ?? 0)).map { column in
            rows.map { $0.indices.contains(column) ? $0[column].columns : 0 }.max() ?? 0
        }
        guard let limit else { return widths }
        let natural = widths
        var excess: Int {
            let shown = widths.filter { $0 > 0 }
            return shown.reduce(0, +) + max(0, shown.count - 1) * 2 - limit
        }
        func shorten(to least: Int) {
            for column in flexible where widths.indices.contains(column) && widths[column] > least {
                widths[column] = max(least, widths[column] - max(0, excess))
            }
        }
        shorten(to: Self.readableWidth)
        for column in droppable where widths.indices.contains(column) && excess > 0 { widths[column] = 0 }
        // What a dropped column leaves over.
        for column in flexible.reversed() where widths.indices.contains(column) && excess < 0 {
            widths[column] = min(natural[column], widths[column] - excess)
        }
        shorten(to: 1)
        return widths
    }

    /// A line that is being put together.
    private struct Line {
        let format: Format
        private(set) var text = ""
        /// The columns that `text` takes, with the room of cells that were empty.
        private var used = 0
        /// Columns between the end of `text` and `used`.
        private var padding = 0
        /// Whether the terminal may have counted other columns than `used`.
        private var isUncertain = false

        init(format: Format) { self.format = format }

        mutating func add(_ cell: Cell, width: Int, style: (Int, String) -> String, _ column: Int) {
            if used > 0 { skip(2) }
            let end = used + width
            let limit = min(width, format.width.map { $0 - used } ?? width)
            guard limit > 0 else { return }
            if cell.tail.isEmpty {
                append(cell.text.cut(to: limit), style, column)
            } else {
                let tail = cell.tail.cut(to: max(1, limit - min(cell.text.columns, Table.leastBeforeTail) - 2))
                append(cell.text.cut(to: max(1, limit - tail.columns - 2)), style, column)
                skip(2)
                append(tail, style, Table.tail)
            }
            skip(max(0, end - used))
        }

        private mutating func skip(_ columns: Int) {
            used += columns
            padding += columns
        }

        private mutating func append(_ cell: String, _ style: (Int, String) -> String, _ column: Int) {
            guard !cell.isEmpty else { return }
            if isUncertain, format.usesControls {
                text += "\u{1B}[\(used + 1)G"
            } else {
                text += String(repeating: " ", count: padding)
            }
            padding = 0
            text += style(column, format.usesControls ? cell.isolated : cell)
            used += cell.columns
            if !cell.utf8.allSatisfy({ $0 < 0x80 }) { isUncertain = true }
        }
    }
}
