/// Why the daemon cannot start or go on.
struct DaemonError: Error, CustomStringConvertible {
    enum Code: Sendable, Hashable {
        /// A flag, key or variable, or what it names, cannot be used: exit status 78.
        case configuration
        /// Another daemon is there already, or the system refused something.
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
