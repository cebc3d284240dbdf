/// A query that cannot be run, with production's message. A server responds with INVALID_ARGUMENT.
public struct QueryError: Error, Hashable, CustomStringConvertible {
    /// The description of the problem.
    public let message: String

    /// Creates an error with a message.
    public init(_ message: String) {
        self.message = message
    }

    /// The same as `message`.
    public var description: String { message }
}
