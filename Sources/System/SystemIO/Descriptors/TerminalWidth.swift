import CLinux

/// The columns of the terminal behind a descriptor; nil where there is none, or it does not say.
package func terminalWidth(_ descriptor: Int32) -> Int? {
    let columns = ferry_columns(descriptor)
    return columns > 0 ? Int(columns) : nil
}
