/// A refusal or failure of the store, ready to be answered as a gRPC status.
///
/// The message is in production's words where clients look at them; it names resources but never holds their content.
package struct DocumentStoreError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The gRPC status codes that the store answers (https://grpc.io/docs/guides/status-codes/).
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
    /// What failed beneath, on which file, and what to do: for whoever runs the server, and no client.
    package let cause: String?

    package init(_ code: Code, _ message: String, cause: String? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    package var description: String { "\(code): \(cause ?? message)" }
}
