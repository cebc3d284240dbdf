import HTTPMessages
import IdentityProtocol
import JSON

/// The calls that sign in with what another party vouches for.
struct ExternalRoutes: Sendable {
    let server: IdentityService

    private var signIn: ExternalSignIn { ExternalSignIn(server: server) }

    func signInWithCustomToken(_ body: JSONObject) async throws -> JSON {
        guard let token = body["token"]?.stringValue, !token.isEmpty else {
            throw ToolkitRefusal("MISSING_CUSTOM_TOKEN")
        }
        let outcome = try await signIn.signIn(customToken: token)
        return .object(answer("VerifyCustomTokenResponse", outcome))
    }

    func signInWithEmailLink(_ body: JSONObject, _ address: NetworkAddress) async throws -> JSON {
        guard let email = body["email"]?.stringValue else { throw ToolkitRefusal("MISSING_EMAIL") }
        guard let code = body["oobCode"]?.stringValue, !code.isEmpty else {
            throw ToolkitRefusal("MISSING_OOB_CODE")
        }
        let linked = try body["idToken"]?.stringValue.map { try server.authenticator.verify($0) }
        let outcome = try await signIn.signIn(
            email: email, code: code, linkingTo: linked, from: origin(body, address))
        return .object(answer("EmailLinkSigninResponse", outcome))
    }

    /// Signs in or links with the ID token of an OpenID provider, which the client has got from it.
    func signInWithProvider(_ body: JSONObject, _ address: NetworkAddress) async throws -> JSON {
        guard let text = body["postBody"]?.stringValue ?? body["pendingToken"]?.stringValue,
            let items = HTTPTarget.items(of: text)
        else { throw ToolkitRefusal("INVALID_CREDENTIAL_OR_PROVIDER_ID : There is no postBody.") }
        let fields = Dictionary(items.map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { first, _ in first })
        guard let provider = fields["providerId"] else {
            throw ToolkitRefusal("INVALID_CREDENTIAL_OR_PROVIDER_ID : There is no providerId.")
        }
        let token = try await token(provider, fields, redirect: body["requestUri"]?.stringValue ?? "")
        var identity = try await server.identity(provider, token: token, nonce: fields["nonce"])
        if identity.link.displayName == nil { identity.link.displayName = Self.name(fields["user"]) }
        var answer: JSONObject = [
            "kind": "identitytoolkit#VerifyAssertionResponse", "providerId": .string(identity.link.provider),
            "federatedId": .string(identity.link.subject), "oauthIdToken": .string(token),
            "rawUserInfo": .string(JSON.object(identity.claims).text),
        ]
        answer["email"] = identity.link.email.map { .string($0) }
        answer["emailVerified"] = .boolean(identity.isEmailVerified)
        answer["fullName"] = identity.link.displayName.map { .string($0) }
        let linked = try body["idToken"]?.stringValue.map { try server.authenticator.verify($0) }
        do {
            switch try await signIn.signIn(with: identity, linkingTo: linked, from: origin(body, address)) {
            case .signedIn(let outcome):
                for (key, value) in self.answer("VerifyAssertionResponse", outcome) { answer[key] = value }
                answer["photoUrl"] = outcome.tokens.account.photoURL.map { .string($0) }
            case .needsConfirmation(let account):
                answer["needConfirmation"] = true
                answer["email"] = account.email.map { .string($0) }
                answer["verifiedProvider"] = .array(account.providers.compactMap { $0["providerId"] })
            }
        } catch let error as IdentityError where error.code == .alreadyLinked && body["returnIdpCredential"] == true {
            answer["errorMessage"] = "FEDERATED_USER_ID_ALREADY_LINKED"
        }
        return .object(answer)
    }

    /// Tells how an address may sign in, and where a provider's sign-in begins.
    ///
    /// Strangers do not learn who has an account: only the emulator names the ways of an address.
    func createAuthURI(_ body: JSONObject) async throws -> JSON {
        var answer: JSONObject = [
            "kind": "identitytoolkit#CreateAuthUriResponse",
            "sessionId": .string(body["sessionId"]?.stringValue ?? OneTimeCode.make()),
        ]
        if let provider = body["providerId"]?.stringValue {
            let known = try server.provider(provider)
            if body["customParameter"]?["device"] == "true" {
                let begun = try await known.beginDevice(now: server.now())
                for name in [
                    "device_code", "user_code", "verification_uri", "verification_uri_complete", "expires_in",
                    "interval",
                ] {
                    answer[name] = begun[name]
                }
                answer["sessionId"] = nil
                return .object(answer)
            }
            guard let target = body["continueUri"]?.stringValue else {
                throw ToolkitRefusal("MISSING_CONTINUE_URI")
            }
            var parameters = (body["customParameter"]?.objectValue ?? [:]).members.compactMap { member in
                member.value.stringValue.map { (member.key, $0) }
            }
            if !parameters.contains(where: { $0.0 == "state" }) {
                parameters.append(("state", answer["sessionId"]?.stringValue ?? ""))
            }
            answer["authUri"] = .string(
                try await known.authorizationURL(redirect: target, parameters: parameters, now: server.now()))
            answer["providerId"] = .string(provider)
        }
        guard let identifier = body["identifier"]?.stringValue else {
            if body["providerId"] == nil { throw ToolkitRefusal("MISSING_IDENTIFIER") }
            return .object(answer)
        }
        let email = try Accounts.normalized(identifier)
        guard server.isEmulator else { return .object(answer) }
        let account = try await server.accounts.store.account(email: email)?.0
        answer["registered"] = .boolean(account != nil)
        let ways = JSON.array(account?.providers.compactMap { $0["providerId"] } ?? [])
        (answer["allProviders"], answer["signinMethods"]) = (ways, ways)
        return .object(answer)
    }

    // MARK: parts

    /// Returns the provider's ID token: the one that the client has, or the one for the client's
    /// code, which this server exchanges because it may have a secret at the provider.
    private func token(_ provider: String, _ fields: [String: String], redirect: String) async throws -> String {
        if let token = fields["id_token"] { return token }
        if let code = fields["code"] {
            return try await server.provider(provider).exchange(
                code: code, verifier: fields["code_verifier"], redirect: redirect, now: server.now())
        }
        if let code = fields["device_code"] {
            return try await server.provider(provider).finishDevice(code: code, now: server.now())
        }
        throw ToolkitRefusal("INVALID_CREDENTIAL_OR_PROVIDER_ID : It takes an id_token or a code.")
    }

    private func origin(_ body: JSONObject, _ address: NetworkAddress) -> Accounts.SignUpOrigin {
        Accounts.SignUpOrigin(address: address, invitation: body["invitationCode"]?.stringValue)
    }

    private func answer(_ kind: String, _ outcome: ExternalSignIn.Outcome) -> JSONObject {
        var answer = ToolkitAnswer.answer(kind, outcome.tokens.account, outcome.tokens)
        answer["isNewUser"] = .boolean(outcome.isNew)
        return answer
    }

    /// Returns the name that Apple's clients get apart from the token, at the first sign-in only.
    private static func name(_ user: String?) -> String? {
        guard let user, let name = try? JSON(parsing: user, depth: 4)["name"] else { return nil }
        let parts = ["firstName", "lastName"].compactMap { name[$0]?.stringValue }.filter { !$0.isEmpty }
        return parts.isEmpty ? nil : String(parts.joined(separator: " ").prefix(200))
    }
}
