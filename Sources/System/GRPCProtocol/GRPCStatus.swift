/// How a call ended, and the error that every call in this target throws.
///
/// Equality covers all three fields. The message crosses the wire: it must hold no secrets and no document content.
package struct GRPCStatus: Error, Hashable, Sendable {
    /// What kind of end it was.
    package var code: Code
    /// One sentence for the peer's developer; any text, the percent-encoding of the wire is done beneath.
    package var message: String
    /// A serialized `google.rpc.Status`, carried as the trailer `grpc-status-details-bin`; empty when there is none.
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

    /// What a handler's or an encoder's thrown error looks like to the peer: a `GRPCStatus` is itself, a cancelled
    /// task is `cancelled`, and of anything else the peer learns only that it happened.
    package init(thrown error: any Error) {
        switch error {
        case let status as GRPCStatus: self = status
        case is CancellationError: self.init(.cancelled, "The call was cancelled.")
        default: self.init(.unknown, "The server failed to handle the call.")
        }
    }
}
