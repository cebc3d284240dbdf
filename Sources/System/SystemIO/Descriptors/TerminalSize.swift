import CLinux

/// Returns the number of columns of a descriptor's terminal; nil if it is no terminal or does not
/// report its size.
package func terminalWidth(_ descriptor: Int32) -> Int? {
    let columns = ferry_columns(descriptor)
    return columns > 0 ? Int(columns) : nil
}
