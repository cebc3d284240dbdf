import GRPCServer

/// The caller of a call.
package enum Caller: Sendable, Hashable, GRPCCaller {
    /// Bypasses the rules: `Bearer owner` in emulator mode.
    case administrator
    /// - Parameters:
    ///   - expires: seconds since 1970; nil where the token has no end that is checked.
    ///   - address: the account's e-mail address; nil for one without.
    case user(id: String, expires: Int64?, address: String? = nil)
    case nobody

    /// The account that limits are counted for; nil for the administrator, who has none.
    package var account: String? {
        switch self {
        case .administrator: nil
        case .user(let id, _, _): id
        case .nobody: ""
        }
    }

    /// The account that the transport counts the call for; nil for a call without one.
    package var transportAccount: String? {
        switch self {
        case .administrator: "administrator"
        case .user(let id, _, _): "user \(id)"
        case .nobody: nil
        }
    }

    package var address: String? {
        guard case .user(_, _, let address) = self else { return nil }
        return address
    }
}
