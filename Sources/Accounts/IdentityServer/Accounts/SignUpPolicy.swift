/// The rule for who may create an account.
package enum SignUpPolicy: String, Sendable, CaseIterable {
    case open
    /// Users with an invitation from the server's administrator.
    case invite
    /// Only the administrator, on the server's machine.
    case closed
}
