/// Standard output and standard error of a command.
package struct Console: Sendable {
    package init() {}

    /// Prints a line of data.
    package func print(_ line: String) { StandardStream.output.write(line + "\n") }

    /// Prints a line of progress, a warning or an error on standard error.
    package func note(_ line: String) { StandardStream.error.write(line + "\n") }
}
