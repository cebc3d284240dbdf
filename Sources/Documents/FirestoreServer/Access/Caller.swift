import GRPCServer
package import JSON

/// The identity on whose behalf a call is made.
package enum Caller: Sendable, Hashable, GRPCCaller {
    /// An administrator, to whom the rules do not apply: `Bearer owner` in emulator mode.
    case administrator
    /// A signed-in user.
    ///
    /// - Parameters:
    ///   - expires: The expiration of the token in seconds since 1970; nil if no expiration is
    ///     enforced.
    ///   - address: The account's e-mail address; nil if it has none.
    ///   - claims: The claims of the token, which rules may ask for.
    case user(id: String, expires: Int64?, address: String? = nil, claims: JSONObject = [:])
    case nobody

    /// The account whose limits apply; nil for an administrator, who has none.
    package var account: String? {
        switch self {
        case .administrator: nil
        case .user(let id, _, _, _): id
        case .nobody: ""
        }
    }

    /// The account for which the transport counts the call; nil for a call without an account.
    package var transportAccount: String? {
        switch self {
        case .administrator: "administrator"
        case .user(let id, _, _, _): "user \(id)"
        case .nobody: nil
        }
    }

    package var address: String? {
        guard case .user(_, _, let address, _) = self else { return nil }
        return address
    }
}
