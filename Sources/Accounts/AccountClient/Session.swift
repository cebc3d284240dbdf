/// The result of a sign-in or a refresh.
package struct Session: Sendable, Hashable {
    package let userID: String
    /// The e-mail address; nil for an anonymous account, and after a refresh, which does not report
    /// it.
    package let email: String?
    package let idToken: String
    package let refreshToken: String
    /// The lifetime of the ID token from its receipt. It depends on neither machine's clock.
    package let lifetime: Duration
}
