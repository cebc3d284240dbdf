package import IdentityProtocol

/// A user of the server.
package struct Account: Sendable, Hashable {
    /// The id, of 28 letters and digits; `userId` in the user's documents.
    package let id: String
    /// The e-mail address in lower case; nil for anonymous accounts.
    package var email: String?
    package var displayName: String?
    package var photoURL: String?
    package var isEmailVerified: Bool
    package var hasPassword: Bool
    package var isDisabled: Bool
    /// The time of creation in milliseconds since 1970, by the server's clock.
    package var createdAt: Int64
    package var lastLoginAt: Int64
    package var passwordUpdatedAt: Int64?
    /// The time before which sign-ins are void, in seconds since 1970.
    package var validSince: Int64
    package var quota = AccountQuota.Override()

    package var isAnonymous: Bool { email == nil }
}

/// The method of a sign-in, with the names that `firebase.sign_in_provider` uses.
package enum SignInProvider: String, Sendable {
    case anonymous
    case password
}
