/// A query that cannot be run, in production's words; a server answers it with INVALID_ARGUMENT.
public struct QueryError: Error, Hashable, CustomStringConvertible {
    public let message: String

    public init(_ message: String) {
        self.message = message
    }

    public var description: String { message }
}
