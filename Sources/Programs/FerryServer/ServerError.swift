/// Why `ferry-server` cannot do what it was asked to.
struct ServerError: Error, CustomStringConvertible {
    enum Code: Sendable {
        /// An option, a key of the configuration file or what it names cannot be used.
        case configuration
        /// Another server, or a port that is taken.
        case inUse
        case notFound
        /// A file or database is not as it should be.
        case damaged
        case failed
    }

    let code: Code
    /// What failed, on what, and what to do.
    let message: String
    let cause: (any Error)?

    init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    var description: String { message }
}
