import CLinux

/// The size of a terminal in characters.
package struct TerminalSize: Sendable, Hashable {
    package let columns: Int
    package let rows: Int

    /// Creates the present size of a descriptor's terminal; nil if it is no terminal or does not
    /// report its size.
    package init?(of descriptor: Int32) {
        var (columns, rows): (Int32, Int32) = (0, 0)
        guard ferry_terminal_size(descriptor, &columns, &rows) == 0, columns > 0, rows > 0 else { return nil }
        self.columns = Int(columns)
        self.rows = Int(rows)
    }
}
