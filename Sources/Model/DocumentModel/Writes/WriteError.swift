/// The reason for which a write was not applied, with Firestore's codes and messages.
public struct WriteError: Error, Hashable, CustomStringConvertible {
    /// The gRPC status with which a server responds.
    public enum Code: Sendable, Hashable {
        case invalidArgument
        case notFound
        case alreadyExists
        case failedPrecondition
    }

    /// The kind of failure.
    public let code: Code
    /// The description of the problem.
    public let message: String

    /// Creates an error.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The same as `message`.
    public var description: String { message }
}
