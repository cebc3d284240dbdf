package import JSON

/// An ID token whose signature and claims have been checked.
package struct VerifiedToken: Sendable, Hashable {
    /// The user's id, from `sub`.
    package let userID: String
    package let issuer: String
    /// The time of issue in seconds since 1970 by the issuer's clock.
    package let issuedAt: Int64
    package let expiresAt: Int64
    /// The time when the user signed in, which refreshing does not change.
    package let authenticatedAt: Int64
    /// The sign-in method, such as `anonymous` or `password`; empty if the token has none.
    package let provider: String
    package let email: String?
    /// All claims, for rules that use custom ones.
    package let claims: JSONObject

    /// Whether the user's id can be the first part of the keys of objects.
    var canOwnObjects: Bool {
        userID.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") }
    }
}
