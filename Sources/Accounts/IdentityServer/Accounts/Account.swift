package import IdentityProtocol

/// One user of the server.
package struct Account: Sendable, Hashable {
    /// 28 letters and digits; `userId` of the user's documents.
    package let id: String
    /// In lower case; nil for anonymous accounts.
    package var email: String?
    package var displayName: String?
    package var photoURL: String?
    package var isEmailVerified: Bool
    package var hasPassword: Bool
    package var isDisabled: Bool
    /// Milliseconds since 1970 by the server's clock.
    package var createdAt: Int64
    package var lastLoginAt: Int64
    package var passwordUpdatedAt: Int64?
    /// Seconds since 1970; sign-ins before it are void.
    package var validSince: Int64
    package var quota = AccountQuota.Override()

    package var isAnonymous: Bool { email == nil }
}

/// How somebody signed in, as `firebase.sign_in_provider` names it.
package enum SignInProvider: String, Sendable {
    case anonymous
    case password
}
