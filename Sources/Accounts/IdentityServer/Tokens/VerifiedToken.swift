package import JSON

/// An ID token whose signature and claims have been checked.
package struct VerifiedToken: Sendable, Hashable {
    /// The user's id: `sub`.
    package let userID: String
    package let issuer: String
    /// Seconds since 1970 by the issuer's clock.
    package let issuedAt: Int64
    package let expiresAt: Int64
    /// When the user signed in; refreshing does not change it.
    package let authenticatedAt: Int64
    /// `anonymous`, `password`, …; empty where the token does not say.
    package let provider: String
    package let email: String?
    /// All of them, for rules that look at custom ones.
    package let claims: JSONObject
}
