/// A failure of `ferry-server`.
package struct ServerError: Error, CustomStringConvertible {
    package enum Code: Sendable {
        /// An option, a key of the configuration file, or a file that it names cannot be used.
        case configuration
        /// The directory belongs to another server, or the port is taken.
        case inUse
        case notFound
        /// A file or database is damaged.
        case damaged
        case failed
    }

    package let code: Code
    /// The description: the failure, its subject, and what to do.
    package let message: String
    package let cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    package var description: String { message }
}
