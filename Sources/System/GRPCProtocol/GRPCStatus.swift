/// The result of a call, and the error that every call in this target throws.
///
/// Equality covers all three fields. The message is sent to the peer, so it must hold no secrets
/// and no document content.
package struct GRPCStatus: Error, Hashable, Sendable {
    /// The kind of result.
    package var code: Code
    /// A sentence for the developer of the peer. It may be any text; the transport percent-encodes
    /// it.
    package var message: String
    /// A serialized `google.rpc.Status`, sent as the trailer `grpc-status-details-bin`; empty if
    /// there is none.
    package var details: [UInt8]

    package init(_ code: Code, _ message: String = "", details: [UInt8] = []) {
        self.code = code
        self.message = message
        self.details = details
    }

    package static let ok = GRPCStatus(.ok)
}

extension GRPCStatus: CustomStringConvertible {
    package var description: String { message.isEmpty ? code.description : "\(code): \(message)" }
}

extension GRPCStatus {
    package static let detailsKey = "grpc-status-details-bin"

    /// Creates the status for an error that a handler or an encoder has thrown.
    ///
    /// A `GRPCStatus` is used as it is, and a cancelled task gives `cancelled`. For any other error
    /// the peer learns only that the call failed.
    package init(thrown error: any Error) {
        switch error {
        case let status as GRPCStatus: self = status
        case is CancellationError: self.init(.cancelled, "The call was cancelled.")
        default: self.init(.unknown, "The server failed to handle the call.")
        }
    }
}
