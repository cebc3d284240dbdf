/// What a sign-in gives.
package struct Session: Sendable, Hashable {
    package let userID: String
    /// nil for an anonymous account, and after a refresh, which does not tell.
    package let email: String?
    package let idToken: String
    package let refreshToken: String
    /// How long the ID token is good from now; the server's clock does not matter, nor does this machine's.
    package let lifetime: Duration
}
