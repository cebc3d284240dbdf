import Identity

/// Who makes a call.
enum Caller: Sendable, Hashable {
    /// Bypasses the rules: `Bearer owner` in emulator mode.
    case administrator
    /// - Parameter expires: seconds since 1970; nil where the token has no end that is checked.
    case user(id: String, expires: Int64?)
    case nobody

    /// The account that limits are counted for; nil for the administrator, who has none.
    var account: String? {
        switch self {
        case .administrator: nil
        case .user(let id, _): id
        case .nobody: ""
        }
    }

    var requester: Requester {
        switch self {
        case .administrator: .administrator
        case .user(let id, _): .user(id)
        case .nobody: .nobody
        }
    }
}
