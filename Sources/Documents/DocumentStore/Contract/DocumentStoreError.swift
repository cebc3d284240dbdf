/// A refusal or failure of the store, which can be sent as a gRPC status.
///
/// The message is the same as in production if clients depend on it. It names resources but never
/// contains their content.
package struct DocumentStoreError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The gRPC status codes that the store uses (https://grpc.io/docs/guides/status-codes/).
    package enum Code: Int32, Sendable {
        case invalidArgument = 3
        case notFound = 5
        case alreadyExists = 6
        case permissionDenied = 7
        case resourceExhausted = 8
        case failedPrecondition = 9
        case aborted = 10
        case unimplemented = 12
        case `internal` = 13
        case unavailable = 14
        case dataLoss = 15
        case unauthenticated = 16
    }

    package let code: Code
    package let message: String
    /// The underlying failure, the file concerned, and what to do. For the operator of the server,
    /// never sent to clients.
    package let cause: String?

    package init(_ code: Code, _ message: String, cause: String? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    package var description: String { "\(code): \(cause ?? message)" }
}
