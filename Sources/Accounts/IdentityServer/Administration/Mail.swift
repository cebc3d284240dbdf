/// A mail with a link, for `IdentityService.Configuration.mailer`.
package struct Mail: Sendable, Hashable {
    package let recipient: String
    package let subject: String
    package let text: String

    /// Creates a mail.
    ///
    /// - Parameter action: The action of the link: `resetPassword`, `verifyEmail`, `signIn` or
    ///   `verifyAndChangeEmail`.
    init(to recipient: String, action: String, link: String, code: String) {
        self.recipient = recipient
        let purpose: String
        switch action {
        case "resetPassword": (subject, purpose) = ("Set a new password", "set a new password")
        case "verifyEmail": (subject, purpose) = ("Confirm your address", "confirm that this address is yours")
        case "signIn": (subject, purpose) = ("Sign in", "sign in")
        default: (subject, purpose) = ("Confirm your new address", "use this address to sign in from now on")
        }
        let command = action == "resetPassword" ? "\nOn a machine with Ferry: ferry login URL --code \(code)\n" : ""
        text = """
            To \(purpose), open this link within an hour:

            \(link)
            \(command)
            If you did not ask for this, do nothing.
            """
    }
}
