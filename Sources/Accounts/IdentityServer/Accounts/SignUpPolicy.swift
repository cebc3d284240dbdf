/// Who may make an account.
package enum SignUpPolicy: String, Sendable, CaseIterable {
    case open
    /// Whoever has an invitation of the server's administrator.
    case invite
    /// Only the administrator, on the server's machine.
    case closed
}
