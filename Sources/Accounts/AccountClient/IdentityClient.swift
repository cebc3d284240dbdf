package import HTTPClient
import HTTPMessages
package import IdentityProtocol
import JSON
import XML

/// A client of an identity server: `ferry-server`, Firebase's Auth emulator, or another server with
/// the Identity Toolkit's REST interface. It holds no state.
///
/// All calls throw `IdentityError` or `CancellationError`. The code is `.offline` for any response
/// that is not the server's own, such as that of a captive portal.
package struct IdentityClient: Sendable {
    private static let answerLimit = 256 << 10

    private let url: String
    private let tokens: String
    private let key: String
    private let http: HTTPClient

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - url: The URL of the server's root.
    ///   - tokens: The URL of the server that refreshes tokens; nil for the same.
    ///   - key: The API key of the project, which is not secret. `ferry-server` accepts any.
    package init(url: String, tokens: String? = nil, key: String = "ferry", http: HTTPClient = HTTPClient()) {
        self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
        self.tokens = tokens ?? self.url
        self.key = PercentEncoding.encode(key)
        self.http = http
    }

    /// Creates an anonymous account.
    ///
    /// - Parameter invitation: A code, for servers that require an invitation.
    package func signUpAnonymously(invitation: String? = nil) async throws -> Session {
        var request: JSONObject = ["returnSecureToken": true]
        request["invitationCode"] = invitation.map { .string($0) }
        return try Self.session(try await account("signUp", request))
    }

    /// Creates a permanent account.
    ///
    /// - Parameter invitation: A code, for servers that require an invitation.
    package func signUp(email: String, password: String, invitation: String? = nil) async throws -> Session {
        var request = Self.credentials(email, password)
        request["invitationCode"] = invitation.map { .string($0) }
        return try Self.session(try await account("signUp", request))
    }

    /// Returns the account whose password a code sets. The code stays valid.
    package func account(passwordCode code: String) async throws -> (email: String, userID: String) {
        let answer = try await account("resetPassword", ["oobCode": .string(code)])
        guard let email = answer["email"]?.stringValue, let user = answer["localId"]?.stringValue else {
            throw Self.incomplete
        }
        return (email, user)
    }

    /// Sets the password of the account that a code is for, and uses up the code.
    package func resetPassword(code: String, password: String) async throws {
        _ = try await account("resetPassword", ["oobCode": .string(code), "newPassword": .string(password)])
    }

    /// Replaces the password of the token's account. All other sessions of the account end.
    package func changePassword(idToken: String, to password: String) async throws -> Session {
        try Self.session(
            try await account(
                "update",
                ["idToken": .string(idToken), "password": .string(password), "returnSecureToken": true]))
    }

    /// Returns what the token's account uses and may use; nil if the server does not report it.
    package func quota(idToken: String) async throws -> QuotaReport? {
        let answer = try await account("lookup", ["idToken": .string(idToken)])
        return answer["users"]?[0]?[QuotaReport.field].map { QuotaReport(json: $0) }
    }

    /// Returns when the token's account gets its mail in the morning; nil if it gets none.
    package func morningMail(idToken: String) async throws -> MorningMailTime? {
        let answer = try await account("lookup", ["idToken": .string(idToken)])
        return answer["users"]?[0]?[MorningMailTime.field].flatMap { MorningMailTime(json: $0) }
    }

    /// Sets when the token's account gets its mail in the morning; nil ends the mails.
    package func setMorningMail(_ time: MorningMailTime?, idToken: String) async throws {
        _ = try await account("update", ["idToken": .string(idToken), MorningMailTime.field: time?.json ?? .null])
    }

    /// Copies a page of the attachments of another account to the token's account, on the server.
    ///
    /// - Returns: The key after which the next page begins; nil after the last.
    package func copyObjects(of source: String, after: String, idToken: String) async throws -> String? {
        let answer = try await account(
            "copyObjects",
            ["idToken": .string(idToken), "sourceIdToken": .string(source), "after": .string(after)])
        return answer["next"]?.stringValue
    }

    package func signIn(email: String, password: String) async throws -> Session {
        try Self.session(try await account("signInWithPassword", Self.credentials(email, password)))
    }

    /// Signs in with a token that a program with the key of a service account has signed.
    package func signIn(customToken: String) async throws -> Session {
        var answer = try await account(
            "signInWithCustomToken", ["token": .string(customToken), "returnSecureToken": true])
        guard let idToken = answer["idToken"] else { throw Self.incomplete }
        // Google's answer does not name the account.
        let found = try await account("lookup", ["idToken": idToken])["users"]?[0]
        (answer["localId"], answer["email"]) = (found?["localId"], found?["email"])
        return try Self.session(answer)
    }

    /// Has a mail sent.
    ///
    /// - Parameters:
    ///   - continueURL: The URL of an app or a page that the link leads to in the end; nil for the
    ///     server's own page. Firebase requires one for a link that signs in.
    package func send(_ mail: AccountMail, to email: String, continueURL: String? = nil) async throws {
        var request: JSONObject = ["requestType": .string(mail.rawValue), "email": .string(email)]
        request["continueUrl"] = continueURL.map { .string($0) }
        if mail == .signIn { request["canHandleCodeInApp"] = true }
        _ = try await account("sendOobCode", request)
    }

    /// Signs in with the code of a mail, or gives its address to the token's account, which keeps its
    /// id and all its data.
    package func signIn(email: String, mailCode: String, linkingTo idToken: String? = nil) async throws -> Session {
        var request: JSONObject = ["email": .string(email), "oobCode": .string(mailCode), "returnSecureToken": true]
        request["idToken"] = idToken.map { .string($0) }
        do { return try Self.session(try await account("signInWithEmailLink", request)) } catch let error
            as IdentityError where error.code == .invalidEmail
        {
            throw IdentityError(.invalidCredentials, "The link was sent to another address.")
        }
    }

    /// Adds an e-mail address and a password to the token's account, which keeps its id and all its
    /// data.
    package func link(idToken: String, email: String, password: String) async throws -> Session {
        var request = Self.credentials(email, password)
        request["idToken"] = .string(idToken)
        return try Self.session(try await account("signUp", request))
    }

    package func refresh(_ refreshToken: String) async throws -> Session {
        let form = "grant_type=refresh_token&refresh_token=\(PercentEncoding.encode(refreshToken))"
        let answer = try await send(
            "\(tokens)/v1/token?key=\(key)", "application/x-www-form-urlencoded", Array(form.utf8))
        guard let user = answer["user_id"]?.stringValue, let idToken = answer["id_token"]?.stringValue,
            let refreshToken = answer["refresh_token"]?.stringValue, let lifetime = Self.seconds(answer["expires_in"])
        else { throw Self.incomplete }
        return Session(
            userID: user, email: nil, idToken: idToken, refreshToken: refreshToken, lifetime: .seconds(lifetime))
    }

    /// Returns the id of the account with an e-mail address; nil if there is none.
    package func userID(of email: String, idToken: String) async throws -> String? {
        let answer = try await account("lookup", ["idToken": .string(idToken), "email": .array([.string(email)])])
        return answer["users"]?[0]?["localId"]?.stringValue
    }

    /// Sets the name that the account is shown with; nil removes it.
    package func setDisplayName(_ name: String?, idToken: String) async throws {
        var request: JSONObject = ["idToken": .string(idToken), "returnSecureToken": false]
        if let name { request["displayName"] = .string(name) } else { request["deleteAttribute"] = ["DISPLAY_NAME"] }
        _ = try await account("update", request)
    }

    /// Removes the account, but not its documents and objects.
    package func delete(idToken: String) async throws {
        _ = try await account("delete", ["idToken": .string(idToken)])
    }

    /// Requests keys to the user's objects from STS.
    ///
    /// - Parameter lifetime: The lifetime in seconds, from 900 to 43200.
    package func storageCredential(idToken: String, lifetime: Int = 3600) async throws -> TemporaryStorageCredential {
        let fields = [
            ("Action", "AssumeRoleWithWebIdentity"), ("Version", "2011-06-15"),
            ("RoleArn", "arn:aws:iam::ferry:role/user"),
            ("RoleSessionName", "ferry"), ("DurationSeconds", String(lifetime)), ("WebIdentityToken", idToken),
        ]
        let form = fields.map { "\($0.0)=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
        let request = HTTPRequest(
            .post, "\(url)/", headers: ["Content-Type": "application/x-www-form-urlencoded"], body: .text(form),
            timeouts: Self.timeouts)
        let (status, bytes) = try await exchange(request)
        let answer = try? XMLElement(parsing: bytes)
        guard status.isSuccess else { throw Self.storageError(status, answer) }
        guard let keys = answer?.first("Credentials"), let accessKey = Self.text("AccessKeyId", in: keys),
            let secretKey = Self.text("SecretAccessKey", in: keys),
            let sessionToken = Self.text("SessionToken", in: keys)
        else { throw Self.somebodyElse(url) }
        return TemporaryStorageCredential(
            accessKey: accessKey, secretKey: secretKey, sessionToken: sessionToken, lifetime: .seconds(lifetime))
    }

    // MARK: OpenID providers

    /// Returns the page of a provider at which the user signs in.
    ///
    /// - Parameter parameters: `state`, `nonce` and the challenge of the client.
    package func signInPage(
        of provider: String, redirect: String, parameters: [String: String]
    ) async throws -> String {
        var custom = JSONObject()
        for (name, value) in parameters { custom[name] = .string(value) }
        let answer = try await account(
            "createAuthUri",
            ["providerId": .string(provider), "continueUri": .string(redirect), "customParameter": .object(custom)])
        guard let url = answer["authUri"]?.stringValue, url.hasPrefix("https://") || url.hasPrefix("http://") else {
            throw Self.incomplete
        }
        return url
    }

    /// Begins a sign-in on another device.
    package func beginDevice(_ provider: String) async throws -> DeviceSignIn {
        let answer = try await account(
            "createAuthUri", ["providerId": .string(provider), "customParameter": ["device": "true"]])
        guard let code = answer["device_code"]?.stringValue, let user = answer["user_code"]?.stringValue,
            let url = (answer["verification_uri_complete"] ?? answer["verification_uri"])?.stringValue
        else { throw Self.incomplete }
        return DeviceSignIn(
            deviceCode: code, userCode: user, url: url,
            interval: .seconds(min(max(Self.seconds(answer["interval"]) ?? 5, 1), 60)),
            lifetime: .seconds(min(Self.seconds(answer["expires_in"]) ?? 600, 3600)))
    }

    /// Signs in with a credential of a provider, or links it to the token's account.
    package func signIn(
        with credential: ProviderCredential, linkingTo idToken: String? = nil, invitation: String? = nil
    ) async throws -> ProviderAnswer {
        var fields = [("providerId", credential.provider)]
        var redirect = "http://localhost"
        switch credential.proof {
        case .code(let code, let verifier, let target):
            fields += [("code", code), ("code_verifier", verifier)]
            redirect = target
        case .deviceCode(let code): fields.append(("device_code", code))
        case .idToken(let token): fields.append(("id_token", token))
        }
        if let nonce = credential.nonce { fields.append(("nonce", nonce)) }
        var request: JSONObject = [
            "postBody": .string(fields.map { "\($0.0)=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")),
            "requestUri": .string(redirect), "returnIdpCredential": true, "returnSecureToken": true,
        ]
        request["idToken"] = idToken.map { .string($0) }
        request["invitationCode"] = invitation.map { .string($0) }
        let answer: JSONObject
        do { answer = try await account("signInWithIdp", request) } catch let error as IdentityError
            where error.code == .authorizationPending
        { return .pending }
        if answer["errorMessage"] == "FEDERATED_USER_ID_ALREADY_LINKED" {
            guard let token = answer["oauthIdToken"]?.stringValue else { throw Self.incomplete }
            return .inUse(
                ProviderCredential(provider: credential.provider, proof: .idToken(token), nonce: credential.nonce))
        }
        if answer["needConfirmation"] == true {
            return .needsConfirmation(email: answer["email"]?.stringValue ?? "")
        }
        return .signedIn(try Self.session(answer))
    }

    /// Removes a provider, or changes the name, of the token's account.
    package func update(idToken: String, displayName: String? = nil, removing provider: String? = nil) async throws {
        var request: JSONObject = ["idToken": .string(idToken)]
        request["displayName"] = displayName.map { .string($0) }
        if let provider { request["deleteProvider"] = [.string(provider)] }
        _ = try await account("update", request)
    }

    // MARK: exchange

    private static let timeouts = HTTPRequest.Timeouts(
        connect: .seconds(10), stall: .seconds(20), total: .seconds(60))

    private func account(_ call: String, _ request: JSONObject) async throws -> JSONObject {
        try await send("\(url)/v1/accounts:\(call)?key=\(key)", "application/json", JSON.object(request).bytes)
    }

    private func send(_ target: String, _ type: String, _ body: [UInt8]) async throws -> JSONObject {
        let request = HTTPRequest(
            .post, target, headers: ["Content-Type": type], body: .bytes(body), timeouts: Self.timeouts)
        let (status, bytes) = try await exchange(request)
        guard let answer = try? JSON(parsing: bytes, depth: 16).objectValue else { throw Self.somebodyElse(url) }
        guard status.isSuccess else { throw Self.error(status, answer) }
        return answer
    }

    private func exchange(_ request: HTTPRequest) async throws -> (HTTPStatus, [UInt8]) {
        do {
            let response = try await http.send(request)
            let bytes = try await response.body.collect(limit: Self.answerLimit)
            guard response.status.rawValue < 500 else {
                throw IdentityError(.offline, "The server at \(url) answers \(response.status); try again later.")
            }
            return (response.status, bytes)
        } catch let error as HTTPError {
            let code: IdentityError.Code = error.code.isTransient ? .offline : .protocolViolation
            throw IdentityError(code, error.message, cause: error)
        }
    }

    // MARK: answers

    private static func credentials(_ email: String, _ password: String) -> JSONObject {
        ["email": .string(email), "password": .string(password), "returnSecureToken": true]
    }

    private static func session(_ answer: JSONObject) throws -> Session {
        guard let user = answer["localId"]?.stringValue, let idToken = answer["idToken"]?.stringValue,
            let refreshToken = answer["refreshToken"]?.stringValue, let lifetime = seconds(answer["expiresIn"])
        else { throw incomplete }
        return Session(
            userID: user, email: answer["email"]?.stringValue, idToken: idToken, refreshToken: refreshToken,
            lifetime: .seconds(lifetime))
    }

    /// Returns a number that servers send either as a text or as a number.
    private static func seconds(_ value: JSON?) -> Int64? {
        let seconds = value?.stringValue.flatMap { Int64($0) } ?? value?.integerValue
        return seconds.flatMap { (1...31_536_000).contains($0) ? $0 : nil }
    }

    /// The text of a child element; nil if it is absent or empty.
    private static func text(_ name: String, in element: XMLElement) -> String? {
        element[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func error(_ status: HTTPStatus, _ answer: JSONObject) -> IdentityError {
        let text = answer["error"]?["message"]?.stringValue ?? ""
        let name = text.split(separator: " ").first.map(String.init) ?? ""
        guard let code = IdentityError.Code(toolkitName: name) else {
            return IdentityError(.protocolViolation, "The server refused with \(status) and no known reason.")
        }
        // The text is "CODE : detail". Control characters are removed, so that a hostile server
        // cannot send them to a terminal.
        let detail = text.split(separator: " : ", maxSplits: 1).dropFirst().first.map {
            String($0.prefix(200).filter { $0.isASCII && $0 >= " " && $0 != "\u{7F}" })
        }
        return IdentityError(code, explanations[code] ?? detail ?? "The server refused: \(name).")
    }

    private static func storageError(_ status: HTTPStatus, _ answer: XMLElement?) -> IdentityError {
        switch answer?.first("Code")?.text {
        case "ExpiredTokenException": IdentityError(.tokenExpired, "The ID token has expired.")
        case "InvalidIdentityToken":
            IdentityError(.invalidToken, "The server does not accept the ID token; sign in again.")
        case let code: IdentityError(.protocolViolation, "STS refused with \(code ?? String(status.rawValue)).")
        }
    }

    private static let explanations: [IdentityError.Code: String] = [
        .invalidCredentials: "The e-mail or the password is wrong.",
        .emailExists: "An account with this e-mail exists already; sign in to it instead.",
        .invalidEmail: "That is not an e-mail address.",
        .weakPassword: "The password is too short: at least 6 characters.",
        .userDisabled: "The account is disabled; ask the server's administrator.",
        .userNotFound: "The account does not exist any more; sign in again.",
        .invalidToken: "The server does not know this sign-in; sign in again.",
        .tokenExpired: "The session is over; sign in again.",
        .loginTooOld: "This change needs a sign-in of the last 15 minutes; sign in again.",
    ]

    private static let incomplete = IdentityError(.protocolViolation, "The server's answer is incomplete.")

    private static func somebodyElse(_ url: String) -> IdentityError {
        IdentityError(
            .offline, "The server at \(url) is not an identity server. This network may require a login page first.")
    }
}
