/// The reason why the daemon cannot start or continue.
struct DaemonError: Error, CustomStringConvertible {
    enum Code: Sendable, Hashable {
        /// A flag, key or variable, or a file that it names, cannot be used: exit status 78.
        case configuration
        /// Another daemon runs already, or the system refused an operation.
        case failed
    }

    let code: Code
    let message: String
    let cause: (any Error)?

    init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    var description: String { message }
}
