import HTTPMessages
import HTTPServer

/// The page that ends the mails in the morning, without a sign-in.
///
/// Mail programs send the `POST` themselves (RFC 8058). Opening the link changes nothing, because mail
/// servers open links to look for malware; the form does.
struct EndOfMailsPage: Sendable {
    static let path = "/__/mail/off"

    let server: IdentityService

    func handle(_ request: HTTPServerRequest) async -> HTTPResponse {
        let token = request.target[query: "token"] ?? ""
        switch request.method {
        case .get, .head:
            return MailPage.page(
                .ok, "End the mails in the morning",
                MailPage.paragraph("'ferry mail' begins them again.")
                    + "<form method=\"post\"><button>End them</button></form>")
        case .post:
            do {
                try await server.morningMails.remove(token: token)
                return MailPage.page(
                    .ok, "You get no more mails in the morning", MailPage.paragraph("'ferry mail' begins them again."))
            } catch {
                return MailPage.page(
                    .serviceUnavailable, "This did not work", MailPage.paragraph("Try again in a few minutes."))
            }
        default: return HTTPResponse(.methodNotAllowed, headers: ["Allow": "GET, HEAD, POST"])
        }
    }
}
