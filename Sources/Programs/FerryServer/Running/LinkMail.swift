import CivilTime
import IdentityServer
import SMTPClient
import ServerData

/// The text of a mail with a link.
struct LinkMail: Sendable, Hashable {
    let recipient: String
    let subject: String
    let text: String

    init(_ mail: Mail) {
        recipient = mail.to
        let purpose: String
        switch mail.kind {
        case "resetPassword": (subject, purpose) = ("Set a new password", "set a new password")
        case "verifyEmail": (subject, purpose) = ("Confirm your address", "confirm that this address is yours")
        case "signIn": (subject, purpose) = ("Sign in", "sign in")
        default: (subject, purpose) = ("Confirm your new address", "use this address to sign in from now on")
        }
        let command =
            mail.kind == "resetPassword" ? "\nOn a machine with Ferry: ferry login URL --code \(mail.code)\n" : ""
        text = """
            To \(purpose), open this link within an hour:

            \(mail.link)
            \(command)
            If you did not ask for this, do nothing.
            """
    }
}

extension SMTPClient {
    func send(_ mail: LinkMail) async throws {
        try await send(
            to: mail.recipient, subject: mail.subject, text: mail.text,
            date: UTCTime(seconds: WallClock.seconds()).imfFixdate)
    }
}
