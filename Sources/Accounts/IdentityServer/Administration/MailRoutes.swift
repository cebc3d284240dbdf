import HTTPMessages
import IdentityProtocol
import JSON

/// `sendOobCode`: codes that prove the possession of a mailbox, and the links that carry them.
struct MailRoutes: Sendable {
    let server: IdentityService

    /// Makes a code, and mails it or returns it.
    ///
    /// - Parameter isAdministrator: Whether the caller may have the link, for any account.
    func send(_ body: JSONObject, isAdministrator: Bool, _ address: NetworkAddress) async throws -> JSON {
        guard let type = body["requestType"]?.stringValue else { throw ToolkitRefusal("MISSING_REQ_TYPE") }
        let returnsLink = isAdministrator && body["returnOobLink"]?.booleanValue ?? false
        guard returnsLink || server.isEmulator || server.configuration.mailer != nil else {
            throw IdentityError(
                .notAllowed,
                "This server sends no mail. Ask its administrator for a code ('ferry-server user reset-password')."
            )
        }
        let continueURL = body["continueUrl"]?.stringValue
        if let continueURL, !isAdministrator, !server.isEmulator, !isOwn(continueURL) {
            throw ToolkitRefusal(
                "UNAUTHORIZED_DOMAIN : The code of a mail goes only to this server, or to an app on this machine.")
        }
        let now = server.now()
        let asked = try body["email"]?.stringValue.map(Accounts.normalized)
        let new = try body["newEmail"]?.stringValue.map(Accounts.normalized)
        let token = try body["idToken"]?.stringValue.map { try server.authenticator.verify($0) }
        var signedIn: Account?
        if let token { signedIn = try await server.accounts.account(of: token) }
        if !isAdministrator, !server.isEmulator {
            // The count is of the address that gets the mail.
            let recipient =
                switch type {
                case "VERIFY_EMAIL": signedIn?.email
                case "VERIFY_AND_CHANGE_EMAIL": new
                default: asked
                }
            try await server.accounts.countMail(to: recipient, from: address, now: now)
        }
        let code: String
        let mode: String
        let email: String
        switch type {
        case "PASSWORD_RESET":
            guard let asked else { throw ToolkitRefusal("MISSING_EMAIL") }
            (mode, email) = ("resetPassword", asked)
            guard isAdministrator || server.isEmulator else {
                // Strangers do not learn who has an account, neither from the answer nor from its time.
                try server.outbox.add {
                    guard let code = try await passwordCode(for: asked, now: now) else { return }
                    let link = self.link(mode, code, continueURL: continueURL)
                    try await server.configuration.mailer?(Mail(to: asked, action: mode, link: link, code: code))
                }
                return answer(type, asked)
            }
            guard let made = try await passwordCode(for: asked, now: now) else {
                throw ToolkitRefusal("EMAIL_NOT_FOUND")
            }
            code = made
        case "VERIFY_EMAIL":
            var account = signedIn
            if isAdministrator, account == nil, let asked {
                account = try await server.accounts.store.account(email: asked)?.0
            }
            guard let account else {
                throw ToolkitRefusal(isAdministrator ? "USER_NOT_FOUND" : "MISSING_ID_TOKEN")
            }
            guard let address = account.email else { throw ToolkitRefusal("MISSING_EMAIL") }
            (mode, email) = ("verifyEmail", address)
            code = try await server.accounts.mailCode(.verifyEmail, for: account, token: token, now: now)
        case "EMAIL_SIGNIN":
            guard let asked else { throw ToolkitRefusal("MISSING_EMAIL") }
            let account = try await server.accounts.store.account(email: asked)?.0
            (mode, email) = ("signIn", asked)
            code = try await server.accounts.store.mailCodes.add(
                .init(kind: .signIn, email: asked, account: account?.id, newEmail: nil), now: now)
        case "VERIFY_AND_CHANGE_EMAIL":
            var account = signedIn
            if isAdministrator, account == nil, let asked {
                account = try await server.accounts.store.account(email: asked)?.0
            }
            guard let account, account.email != nil else { throw ToolkitRefusal("USER_NOT_FOUND") }
            guard let new else { throw ToolkitRefusal("MISSING_NEW_EMAIL") }
            if let token { try Accounts.checkFresh(token, now: now) }
            (mode, email) = ("verifyAndChangeEmail", new)
            code = try await server.accounts.mailCode(
                .changeEmail, for: account, newEmail: new, token: token, now: now)
        default: throw ToolkitRefusal("INVALID_REQ_TYPE")
        }
        let link = link(mode, code, continueURL: continueURL)
        if returnsLink {
            return .object(answer(type, email).merging(["oobCode": .string(code), "oobLink": .string(link)]))
        }
        if server.isEmulator { server.emulatedMail.add(type, email: email, code: code, link: link) }
        try await server.configuration.mailer?(Mail(to: email, action: mode, link: link, code: code))
        return answer(type, email)
    }

    /// Returns a code for the password of an address; nil if no account that can sign in has it.
    private func passwordCode(for email: String, now: Int64) async throws -> String? {
        guard let (account, _) = try await server.accounts.store.account(email: email), !account.isDisabled else {
            return nil
        }
        return try await server.accounts.passwordCode(for: account, expiresAt: now + MailCodes.lifetime)
    }

    private func answer(_ type: String, _ email: String) -> JSON {
        [
            "kind": "identitytoolkit#GetOobConfirmationCodeResponse", "email": .string(email),
            "requestType": .string(type),
        ]
    }

    /// Whether a URL leads to this server or to loopback. Another site could sign in with the code.
    private func isOwn(_ url: String) -> Bool {
        if url.hasPrefix("\(server.configuration.issuer)/") { return true }
        let loopback = ["http://localhost", "http://127.0.0.1", "http://[::1]"]
        guard let start = loopback.first(where: { url.hasPrefix($0) }) else { return false }
        let port = url.dropFirst(start.count).prefix { !"/?#".contains($0) }
        return port.isEmpty || port.first == ":" && port.dropFirst().allSatisfy { ("0"..."9").contains($0) }
    }

    private func link(_ mode: String, _ code: String, continueURL: String?) -> String {
        let path = server.isEmulator ? MailPage.emulatorPath : MailPage.path
        var link = "\(server.configuration.issuer)\(path)?mode=\(mode)&lang=en&oobCode=\(code)&apiKey=ferry"
        if let continueURL { link += "&continueUrl=\(PercentEncoding.encode(continueURL))" }
        return link
    }
}

extension JSON {
    fileprivate func merging(_ other: JSONObject) -> JSONObject {
        var object = objectValue ?? [:]
        for (key, value) in other { object[key] = value }
        return object
    }
}
