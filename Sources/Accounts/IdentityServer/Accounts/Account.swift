package import IdentityProtocol
package import JSON

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

    /// The claims that an administrator has set, which all of the account's tokens carry.
    package var customClaims = JSONObject()
    /// Whether an administrator has made the account, or it was signed in to with a custom token.
    package var isManaged = false
    /// The accounts at OpenID providers that sign in to this one.
    package var links: [ProviderLink] = []

    package var isAnonymous: Bool { email == nil && links.isEmpty && !isManaged }
}

/// An account at an OpenID provider that signs in to an account of this server.
package struct ProviderLink: Sendable, Hashable {
    /// The provider, such as `google.com` or `oidc.home`.
    package let provider: String
    /// The provider's id of the user, `sub` in its tokens.
    package let subject: String
    package var email: String?
    package var displayName: String?
    package var photoURL: String?
}

/// The method of a sign-in, with the names that `firebase.sign_in_provider` uses.
package struct SignInProvider: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package static let anonymous = SignInProvider(rawValue: "anonymous")
    package static let password = SignInProvider(rawValue: "password")
    package static let custom = SignInProvider(rawValue: "custom")
}
