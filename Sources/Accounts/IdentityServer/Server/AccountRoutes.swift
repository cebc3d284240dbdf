import HTTPMessages
import HTTPServer
import IdentityProtocol
import JSON
import Synchronization

/// The calls of the Identity Toolkit's REST interface (`accounts:…`) and of the token service, in
/// their JSON.
struct AccountRoutes: Sendable {
    let server: IdentityService

    func handle(_ call: String, _ request: HTTPServerRequest) async -> HTTPResponse {
        guard request.method == .post else { return ToolkitAnswer.error(.methodNotAllowed, "METHOD_NOT_ALLOWED") }
        do {
            let isAdministrator = server.serviceKeys.isAdministrator(
                request.headers["Authorization"], now: server.now())
            if isAdministrator, AdministratorRoutes.handles(call) {
                return try await AdministratorRoutes(server: server).handle("accounts:\(call)", request)
            }
            let body = try await ToolkitAnswer.json(request)
            switch call {
            case "signUp": return .json(.ok, try await signUp(body, address(request)))
            case "signInWithPassword": return .json(.ok, try await signIn(body, address(request)))
            case "lookup": return .json(.ok, try await lookup(body, address(request)))
            case "update": return .json(.ok, try await update(body, address(request)))
            case "delete": return .json(.ok, try await delete(body))
            case "copyObjects": return .json(.ok, try await copyObjects(body))
            case "resetPassword": return .json(.ok, try await resetPassword(body, address(request)))
            case "signInWithCustomToken": return .json(.ok, try await external.signInWithCustomToken(body))
            case "signInWithEmailLink":
                return .json(.ok, try await external.signInWithEmailLink(body, address(request)))
            case "signInWithIdp": return .json(.ok, try await external.signInWithProvider(body, address(request)))
            case "createAuthUri": return .json(.ok, try await external.createAuthURI(body))
            case "sendOobCode":
                return .json(
                    .ok, try await MailRoutes(server: server).send(body, isAdministrator: false, address(request)))
            case "signInWithPhoneNumber", "sendVerificationCode", "verifyPhoneNumber":
                throw ToolkitRefusal("OPERATION_NOT_ALLOWED : This server has no sign-in by phone.")
            default: return ToolkitAnswer.unknownOperation
            }
        } catch {
            return ToolkitAnswer.answer(to: error)
        }
    }

    func refresh(_ request: HTTPServerRequest) async -> HTTPResponse {
        guard request.method == .post else { return ToolkitAnswer.error(.methodNotAllowed, "METHOD_NOT_ALLOWED") }
        do {
            let fields = try await ToolkitAnswer.fields(request)
            if fields["grant_type"] == ServiceKeys.grant { return accessToken(fields["assertion"] ?? "") }
            // The SDKs for iOS and Android use the other spelling of the names, and JSON.
            guard let grant = fields["grant_type"] ?? fields["grantType"] else {
                throw ToolkitRefusal("MISSING_GRANT_TYPE")
            }
            guard grant == "refresh_token" else { throw ToolkitRefusal("INVALID_GRANT_TYPE") }
            guard let token = fields["refresh_token"] ?? fields["refreshToken"], !token.isEmpty else {
                throw ToolkitRefusal("MISSING_REFRESH_TOKEN")
            }
            let tokens = try await server.accounts.refresh(token, now: server.now())
            return .json(
                .ok,
                [
                    "access_token": .string(tokens.idToken), "id_token": .string(tokens.idToken),
                    "expires_in": .string(String(TokenIssuer.lifetime)), "refresh_token": .string(tokens.refreshToken),
                    "token_type": "Bearer", "user_id": .string(tokens.account.id),
                    "project_id": .string(server.configuration.project),
                ])
        } catch {
            return ToolkitAnswer.answer(to: error)
        }
    }

    /// Exchanges the assertion of an administrator's program. Its errors have OAuth's form (RFC 6749
    /// section 5.2).
    private func accessToken(_ assertion: String) -> HTTPResponse {
        guard let token = try? server.serviceKeys.accessToken(for: assertion, now: server.now()) else {
            return .json(
                .badRequest,
                [
                    "error": "invalid_grant",
                    "error_description": "The assertion is not signed with a key of this server, or has expired.",
                ])
        }
        return .json(
            .ok,
            [
                "access_token": .string(token), "token_type": "Bearer", "expires_in": .integer(ServiceKeys.lifetime),
            ])
    }

    private var external: ExternalRoutes { ExternalRoutes(server: server) }

    // MARK: calls

    /// Handles `signUp`. The field `invitationCode` is Ferry's own; Google's clients do not send
    /// it.
    private func signUp(_ body: JSONObject, _ address: NetworkAddress) async throws -> JSON {
        let origin = Accounts.SignUpOrigin(address: address, invitation: body["invitationCode"]?.stringValue)
        let email = body["email"]?.stringValue
        let password = body["password"]?.stringValue
        if let idToken = body["idToken"]?.stringValue {
            guard let email else { throw ToolkitRefusal("MISSING_EMAIL") }
            guard let password else { throw ToolkitRefusal("MISSING_PASSWORD") }
            let changes = Accounts.Changes(
                email: email, password: password, displayName: body["displayName"]?.stringValue)
            let (account, tokens) = try await server.accounts.update(
                verify(idToken), changes, address: address, now: server.now())
            return .object(answer("SignupNewUserResponse", account, tokens))
        }
        guard email != nil || password != nil else {
            let tokens = try await server.accounts.signUpAnonymously(from: origin, now: server.now())
            return .object(answer("SignupNewUserResponse", tokens.account, tokens))
        }
        guard let email else { throw ToolkitRefusal("MISSING_EMAIL") }
        guard let password else { throw ToolkitRefusal("MISSING_PASSWORD") }
        let tokens = try await server.accounts.signUp(
            email: email, password: password, displayName: body["displayName"]?.stringValue, from: origin,
            now: server.now())
        return .object(answer("SignupNewUserResponse", tokens.account, tokens))
    }

    private func signIn(_ body: JSONObject, _ address: NetworkAddress) async throws -> JSON {
        guard let email = body["email"]?.stringValue else { throw ToolkitRefusal("INVALID_EMAIL") }
        guard let password = body["password"]?.stringValue, !password.isEmpty else {
            throw ToolkitRefusal("MISSING_PASSWORD")
        }
        let tokens = try await server.accounts.signIn(
            email: email, password: password, address: address, now: server.now())
        var answer = answer("VerifyPasswordResponse", tokens.account, tokens)
        answer["registered"] = true
        answer["displayName"] = .string(tokens.account.displayName ?? "")
        return .object(answer)
    }

    private func lookup(_ body: JSONObject, _ address: NetworkAddress) async throws -> JSON {
        guard let idToken = body["idToken"]?.stringValue else { throw ToolkitRefusal("MISSING_ID_TOKEN") }
        let token = try verify(idToken)
        if let emails = body["email"]?.arrayValue?.compactMap(\.stringValue) {
            // Of other accounts, only the id is returned, which is needed to share data with a
            // known address.
            var users: [JSON] = []
            for email in emails.prefix(10) {
                let id = try await server.accounts.userID(of: email, for: token, address: address, now: server.now())
                guard let id else { continue }
                users.append(["localId": .string(id), "email": .string(email)])
            }
            return ["kind": "identitytoolkit#GetAccountInfoResponse", "users": .array(users)]
        }
        let account = try await server.accounts.account(of: token)
        var user = account.json
        user[QuotaReport.field] = try await quota(of: account)
        user[MorningMailTime.field] = try await server.morningMails.setting(of: account.id).map {
            MorningMailTime(minute: $0.minute, zone: $0.zone, waitsForAddress: !account.isEmailVerified).json
        }
        return ["kind": "identitytoolkit#GetAccountInfoResponse", "users": [.object(user)]]
    }

    private func update(_ body: JSONObject, _ address: NetworkAddress) async throws -> JSON {
        if let code = body["oobCode"]?.stringValue {
            let account = try await ExternalSignIn(server: server).apply(code: code)
            var answer = answer("SetAccountInfoResponse", account, nil)
            answer["emailVerified"] = .boolean(account.isEmailVerified)
            answer["providerUserInfo"] = .array(account.providers)
            return .object(answer)
        }
        guard let idToken = body["idToken"]?.stringValue else { throw ToolkitRefusal("MISSING_ID_TOKEN") }
        let removed = (body["deleteAttribute"]?.arrayValue ?? []).compactMap(\.stringValue)
        var changes = Accounts.Changes(
            email: body["email"]?.stringValue, password: body["password"]?.stringValue,
            displayName: removed.contains("DISPLAY_NAME") ? "" : body["displayName"]?.stringValue,
            photoURL: removed.contains("PHOTO_URL") ? "" : body["photoUrl"]?.stringValue)
        changes.removedProviders = Set((body["deleteProvider"]?.arrayValue ?? []).compactMap(\.stringValue))
        let (account, tokens) = try await server.accounts.update(
            verify(idToken), changes, address: address, now: server.now())
        if let time = body[MorningMailTime.field] { try await setMorningMail(time, of: account, body, address) }
        var answer = answer("SetAccountInfoResponse", account, tokens)
        answer["emailVerified"] = .boolean(account.isEmailVerified)
        answer["providerUserInfo"] = .array(account.providers)
        answer["photoUrl"] = account.photoURL.map { .string($0) }
        return .object(answer)
    }

    /// Sets or ends the mails in the morning. An address that is not confirmed gets a mail with a link
    /// that does that, so that users do not subscribe others.
    private func setMorningMail(
        _ json: JSON, of account: Account, _ body: JSONObject, _ address: NetworkAddress
    ) async throws {
        if json.isNull { return try await server.morningMails.remove(account.id) }
        guard let next = server.configuration.nextMorning else {
            throw ToolkitRefusal("OPERATION_NOT_ALLOWED : This server sends no mail.")
        }
        guard account.email != nil else { throw ToolkitRefusal("MISSING_EMAIL") }
        guard let time = MorningMailTime(json: json) else { throw ToolkitRefusal("INVALID_REQUEST") }
        let setting = MorningMails.Setting(minute: time.minute, zone: time.zone)
        guard let first = next(setting, server.now()) else {
            throw ToolkitRefusal("INVALID_REQUEST : The server does not know this time zone.")
        }
        try await server.morningMails.set(setting, of: account.id, next: first)
        guard !account.isEmailVerified, let idToken = body["idToken"] else { return }
        _ = try await MailRoutes(server: server).send(
            ["requestType": "VERIFY_EMAIL", "idToken": idToken], isAdministrator: false, address)
    }

    /// Handles `resetPassword`. With the code alone, it returns the account whose password the code
    /// sets, and the code stays valid. The field `localId` is Ferry's own.
    private func resetPassword(_ body: JSONObject, _ address: NetworkAddress) async throws -> JSON {
        guard let code = body["oobCode"]?.stringValue, !code.isEmpty else { throw ToolkitRefusal("MISSING_OOB_CODE") }
        // Clients look up what the code of a mail is for with this call.
        if body["newPassword"] == nil,
            let entry = try await server.accounts.store.mailCodes.entry(of: code, now: server.now())
        {
            var answer: JSONObject = [
                "kind": "identitytoolkit#ResetPasswordResponse", "requestType": .string(entry.kind.rawValue),
            ]
            if entry.kind != .signIn { answer["email"] = .string(entry.email) }
            answer["newEmail"] = entry.newEmail.map { .string($0) }
            return .object(answer)
        }
        let account =
            if let password = body["newPassword"]?.stringValue {
                try await server.accounts.resetPassword(
                    code: code, password: password, address: address, now: server.now())
            } else {
                try await server.accounts.account(passwordCode: code, now: server.now())
            }
        return [
            "kind": "identitytoolkit#ResetPasswordResponse", "email": .string(account.email ?? ""),
            "localId": .string(account.id), "requestType": "PASSWORD_RESET",
        ]
    }

    private func delete(_ body: JSONObject) async throws -> JSON {
        guard let idToken = body["idToken"]?.stringValue else { throw ToolkitRefusal("MISSING_ID_TOKEN") }
        try await server.accounts.delete(verify(idToken), now: server.now())
        return ["kind": "identitytoolkit#DeleteAccountResponse"]
    }

    /// Copies a page of the attachments of the account of `sourceIdToken`, which is Ferry's own.
    private func copyObjects(_ body: JSONObject) async throws -> JSON {
        guard let copy = server.configuration.copyObjects else {
            throw ToolkitRefusal("OPERATION_NOT_ALLOWED : Attachments are not on this server.")
        }
        guard let idToken = body["idToken"]?.stringValue, let sourceToken = body["sourceIdToken"]?.stringValue else {
            throw ToolkitRefusal("MISSING_ID_TOKEN")
        }
        let (target, source) = (try verify(idToken), try verify(sourceToken))
        guard target.canOwnObjects, source.canOwnObjects, target.userID != source.userID else {
            throw ToolkitRefusal("INVALID_ID_TOKEN")
        }
        guard server.copyTargets.withLock({ $0.insert(target.userID).inserted }) else {
            throw IdentityError(.tooManyAttempts, "Attachments are being copied to the account already.")
        }
        defer { server.copyTargets.withLock { _ = $0.remove(target.userID) } }
        let next = try await copy(
            source.userID, target.userID, body["after"]?.stringValue ?? "", server.quota(of: target.userID).objectBytes)
        return next.map { ["next": .string($0)] } ?? [:]
    }

    // MARK: parts

    private func address(_ request: HTTPServerRequest) -> NetworkAddress {
        NetworkAddress(peer: request.peer.address)
    }

    /// Returns what the account uses and may use, for `ferry whoami`; nil if the server does not
    /// count usage.
    private func quota(of account: Account) async throws -> JSON? {
        guard let usage = try await server.configuration.usage?(account.id) else { return nil }
        return QuotaReport(used: usage, allowed: server.quota(of: account.id)).json
    }

    private func verify(_ idToken: String) throws -> VerifiedToken { try server.authenticator.verify(idToken) }

    private func answer(_ kind: String, _ account: Account, _ tokens: Accounts.Tokens?) -> JSONObject {
        ToolkitAnswer.answer(kind, account, tokens)
    }
}
