import Cryptography
import HTTPMessages
import HTTPServer
import IdentityProtocol

/// The page behind the links of mails: it sets a password, confirms an address, or says how to sign
/// in. It has no scripts.
///
/// Opening a link changes nothing, because mail servers open links to look for malware. The form does.
struct MailPage: Sendable {
    static let path = "/__/auth/action"
    static let emulatorPath = "/emulator/action"

    private static let bodyLimit = 8 << 10
    private static let style = """
        body{font:1rem/1.5 system-ui,sans-serif;max-width:28rem;margin:4rem auto;padding:0 1rem;color-scheme:light dark}\
        label,input,button{display:block;font:inherit;margin:.5rem 0}input{width:100%;box-sizing:border-box;padding:.4rem}\
        code{overflow-wrap:anywhere}
        """

    let server: IdentityService

    func handle(_ request: HTTPServerRequest) async -> HTTPResponse {
        do {
            switch request.method {
            case .get, .head: return try await question(request.target)
            case .post: return try await answer(request)
            default: return HTTPResponse(.methodNotAllowed, headers: ["Allow": "GET, HEAD, POST"])
            }
        } catch {
            return Self.page(.badRequest, "This did not work", Self.paragraph(Self.reason(error)))
        }
    }

    // MARK: Parts

    /// Returns the form for the code of a link.
    private func question(_ target: HTTPTarget) async throws -> HTTPResponse {
        let code = target[query: "oobCode"] ?? ""
        switch target[query: "mode"] {
        case "resetPassword":
            let account = try await server.accounts.account(passwordCode: code, now: server.now())
            return Self.page(
                .ok, "Set a new password",
                Self.paragraph("For \(account.email ?? account.id). All machines have to sign in again afterwards.")
                    + Self.form(
                        "resetPassword", code,
                        """
                        <label>New password <input type="password" name="newPassword" autocomplete="new-password" \
                        minlength="\(Accounts.passwordLengths.lowerBound)" required></label>\
                        <label>Again <input type="password" name="repeated" autocomplete="new-password" required></label>
                        """, button: "Set the password"))
        case "verifyEmail", "verifyAndChangeEmail":
            guard let entry = try await server.accounts.store.mailCodes.entry(of: code, now: server.now()),
                entry.kind != .signIn
            else { throw ToolkitRefusal("INVALID_OOB_CODE") }
            return Self.page(
                .ok, "Confirm your address",
                Self.paragraph("\(entry.newEmail ?? entry.email) is the address of your account.")
                    + Self.form("verifyEmail", code, "", button: "Confirm"))
        case "signIn":
            guard let entry = try await server.accounts.store.mailCodes.entry(of: code, now: server.now()),
                entry.kind == .signIn
            else { throw ToolkitRefusal("INVALID_OOB_CODE") }
            return Self.page(
                .ok, "Sign in",
                Self.paragraph(
                    "Go back to the app in which you asked for this mail, and give it this page's link, or this code:")
                    + "<p><code>\(Self.escaped(code))</code></p>")
        default: throw ToolkitRefusal("INVALID_REQUEST")
        }
    }

    /// Does what the form asks for.
    private func answer(_ request: HTTPServerRequest) async throws -> HTTPResponse {
        let text = String(decoding: try await request.body.collect(limit: Self.bodyLimit), as: UTF8.self)
        guard let items = HTTPTarget.items(of: text) else { throw ToolkitRefusal("INVALID_REQUEST") }
        let fields = Dictionary(items.map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { first, _ in first })
        let code = fields["oobCode"] ?? ""
        switch fields["mode"] {
        case "resetPassword":
            let password = fields["newPassword"] ?? ""
            guard password == fields["repeated"] else { throw ToolkitRefusal("PASSWORDS_DIFFER") }
            _ = try await server.accounts.resetPassword(
                code: code, password: password, address: NetworkAddress(peer: request.peer.address),
                now: server.now())
            return Self.page(.ok, "Your password is set", Self.paragraph("Sign in with it on your machines."))
        case "verifyEmail":
            _ = try await ExternalSignIn(server: server).apply(code: code)
            return Self.page(.ok, "Your address is confirmed", Self.paragraph("You can close this page."))
        default: throw ToolkitRefusal("INVALID_REQUEST")
        }
    }

    private static func reason(_ error: any Error) -> String {
        switch (error as? IdentityError)?.code {
        case .weakPassword?, .tooManyAttempts?, .userDisabled?: return (error as? IdentityError)?.message ?? ""
        default: break
        }
        return switch (error as? ToolkitRefusal)?.name {
        case "PASSWORDS_DIFFER"?: "The passwords differ. Go back and type them again."
        default: "The link was used, has expired, or is not complete. Ask for another mail."
        }
    }

    // MARK: HTML

    private static func form(_ mode: String, _ code: String, _ inputs: String, button: String) -> String {
        """
        <form method="post"><input type="hidden" name="mode" value="\(mode)">\
        <input type="hidden" name="oobCode" value="\(escaped(code))">\(inputs)<button>\(button)</button></form>
        """
    }

    static func paragraph(_ text: String) -> String { "<p>\(escaped(text))</p>" }

    static func page(_ status: HTTPStatus, _ title: String, _ body: String) -> HTTPResponse {
        HTTPResponse(
            status,
            headers: [
                "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store",
                "Content-Security-Policy":
                    "default-src 'none'; style-src 'sha256-\(Base64.encode(SHA256.hash(style).bytes))'; "
                    + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
                "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
            ],
            body: .text(
                """
                <!DOCTYPE html>
                <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">\
                <title>\(escaped(title))</title><style>\(style)</style></head>
                <body><h1>\(escaped(title))</h1>\(body)</body></html>

                """))
    }

    /// Escapes each scalar: a mark that combines with a quote makes one character of both, which a browser does not.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
