import FirestoreProtocol
import GRPCClient
import GRPCProtocol

extension RemoteError {
    init(_ status: GRPCStatus, doing method: String) {
        // A proxy or a captive portal may answer in the server's place, which tells nothing about the request.
        let code = status.isForeignAnswer ? .transient : Self.code(status.code, status.message)
        self.init(code, "\(method): \(status.code): \(status.message)", cause: status)
    }

    init(_ status: RPCStatus) {
        let code = GRPCStatus.Code(wire: Int(status.code))
        self.init(Self.code(code, status.message), "\(code): \(status.message)")
    }

    /// Maps a status code of `google.firestore.v1` to the code that determines the reaction.
    private static func code(_ code: GRPCStatus.Code, _ message: String) -> Code {
        switch code {
        case .ok, .cancelled, .unknown, .deadlineExceeded, .internal, .unavailable, .unimplemented:
            return .transient
        case .dataLoss: return .damaged
        case .aborted: return .contention
        case .resourceExhausted:
            if message.hasPrefix(quotaPrefix) { return .quota }
            return message.contains("larger than max") ? .tooLarge : .overloaded
        case .unauthenticated: return .unauthenticated
        case .permissionDenied: return .permission
        case .failedPrecondition, .alreadyExists: return .precondition
        case .notFound: return message.hasPrefix("No document to update") ? .precondition : .notFound
        case .invalidArgument: return isAboutSize(message) ? .tooLarge : .invalid
        case .outOfRange: return .invalid
        }
    }

    /// The beginning of a refusal that lasts until space is freed, as in production.
    package static let quotaPrefix = "Quota exceeded"

    private static func isAboutSize(_ message: String) -> Bool {
        ["longer than", "exceeds the maximum", "too large", "bigger than"].contains { message.contains($0) }
    }
}
