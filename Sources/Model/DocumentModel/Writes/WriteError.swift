/// Why a write was not applied, in the terms and words of Firestore.
public struct WriteError: Error, Hashable, CustomStringConvertible {
    /// The gRPC status that a server answers with.
    public enum Code: Sendable, Hashable {
        case invalidArgument
        case notFound
        case alreadyExists
        case failedPrecondition
    }

    public let code: Code
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }
}
