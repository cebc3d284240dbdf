import IdentityProtocol

extension IdentityError {
    static let accountDisabled = IdentityError(
        .userDisabled, "The account is disabled; ask the server's administrator.")
    static let sessionEnded = IdentityError(.tokenExpired, "The session was ended; sign in again.")
    static let addressChanged = IdentityError(.userNotFound, "The account has another e-mail now; try again.")
    static let invalidPasswordCode = IdentityError(
        .invalidCode, "The code is unknown, used or expired. Ask the server's administrator for another.")
}
