/// A failure of PostgreSQL, or of the connection to it.
package struct PostgresError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The five characters of SQLSTATE (PostgreSQL's documentation, appendix A); nil if the server
    /// did not answer.
    package let state: String?
    /// A description of what happened, on one line.
    package let message: String

    package init(state: String? = nil, _ message: String) {
        self.state = state
        self.message = message
    }

    package var description: String { state.map { "PostgreSQL: \(message) (\($0))" } ?? "PostgreSQL: \(message)" }

    /// Whether the connection is of no further use. What became of a COMMIT in progress is then
    /// unknown.
    package var isDisconnected: Bool {
        guard let state else { return true }
        // Connection exceptions, and a server that shuts down, crashes or is still starting.
        return state.hasPrefix("08") || state.hasPrefix("57P")
    }

    /// Whether the server is read-only now, as a former primary is.
    package var isReadOnly: Bool { state == "25006" }

    /// Whether the disk or the memory of the server is full.
    package var isOutOfResources: Bool { state?.hasPrefix("53") ?? false }

    /// Whether the call was cancelled.
    package var isCancelled: Bool { state == "57014" }
}
