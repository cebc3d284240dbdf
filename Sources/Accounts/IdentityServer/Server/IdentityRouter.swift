package import HTTPMessages
package import HTTPServer
import IdentityProtocol
import JSON

/// Finds the handlers of requests to an identity service.
package struct IdentityRouter: Sendable {
    private let server: IdentityService

    package init(_ server: IdentityService) { self.server = server }

    /// Handles a request to the identity service; returns nil for any other request, of which
    /// nothing has been read.
    ///
    /// - `GET` and `POST /__/auth/action`: the page behind the links of mails, in emulator mode
    ///   `/emulator/action`
    /// - `GET` and `POST /__/mail/off`: ends the mails in the morning
    /// - `POST /v1/accounts:…`, the calls of users, `…/v1/projects/P/accounts…`, those of
    ///   administrators, and `POST /v1/token`, each also below the host name, as in the Auth
    ///   emulator: `/identitytoolkit.googleapis.com/v1/…`, `/securetoken.googleapis.com/v1/token`.
    ///   Any `?key=` is accepted.
    /// - `POST /identitytoolkit/v3/relyingparty/…`, the calls of users by their older names
    /// - `GET /.well-known/openid-configuration` and `GET /.well-known/jwks.json`
    /// - `POST /` with a form, and `GET /?Action=…`: STS `AssumeRoleWithWebIdentity`
    package func handle(_ request: HTTPServerRequest) async -> HTTPResponse? {
        let path = request.target.path
        switch path {
        case "/.well-known/openid-configuration": return published(request, discovery)
        case "/.well-known/jwks.json": return published(request, server.keys.current.jwks)
        case "/", "/sts", "/sts/":
            guard SecurityTokenService.isFor(request) else { return nil }
            return await onPool { await SecurityTokenService(server: server).handle(request) }
        case MailPage.path, MailPage.emulatorPath:
            return await onPool { await MailPage(server: server).handle(request) }
        case EndOfMailsPage.path:
            return await onPool { await EndOfMailsPage(server: server).handle(request) }
        default: break
        }
        for prefix in ["", "/identitytoolkit.googleapis.com"] where path.hasPrefix("\(prefix)/v1/") {
            let rest = String(path.dropFirst(prefix.count + "/v1/".count))
            if rest.hasPrefix("accounts:") {
                let call = String(rest.dropFirst("accounts:".count))
                return await onPool { await AccountRoutes(server: server).handle(call, request) }
            }
            // The documents are below the projects, too.
            guard rest.hasPrefix("projects"), !rest.contains("/databases/") else { continue }
            return await onPool { await administrate(rest, request) }
        }
        for prefix in ["", "/www.googleapis.com"] where path.hasPrefix("\(prefix)\(Self.olderPrefix)") {
            let name = String(path.dropFirst("\(prefix)\(Self.olderPrefix)".count))
            guard let call = Self.olderNames[name] else { return ToolkitAnswer.unknownOperation }
            return await onPool { await AccountRoutes(server: server).handle(call, request) }
        }
        if server.isEmulator, path.hasPrefix("/emulator/v1/") {
            let segments = request.target.segments
            return await onPool {
                do { return try await EmulatorRoutes(server: server).handle(segments, request) } catch {
                    return ToolkitAnswer.answer(to: error)
                }
            }
        }
        if path == "/v1/token" || path == "/securetoken.googleapis.com/v1/token" {
            return await onPool { await AccountRoutes(server: server).refresh(request) }
        }
        // Other paths of Google's services are not objects of the store, and Google's clients do
        // not read XML errors.
        let isGoogle = [
            "/v1/accounts", "/v2/accounts", "/identitytoolkit.googleapis.com/", "/securetoken.googleapis.com/",
            "/identitytoolkit/", "/www.googleapis.com/",
        ].contains { path.hasPrefix($0) }
        return isGoogle ? ToolkitAnswer.unknownOperation : nil
    }

    private static let olderPrefix = "/identitytoolkit/v3/relyingparty/"

    /// The names of calls in version 3 of the interface, which the REST clients of Python use.
    private static let olderNames = [
        "verifyPassword": "signInWithPassword", "signupNewUser": "signUp", "getAccountInfo": "lookup",
        "setAccountInfo": "update", "deleteAccount": "delete", "resetPassword": "resetPassword",
        "verifyCustomToken": "signInWithCustomToken", "emailLinkSignin": "signInWithEmailLink",
        "verifyAssertion": "signInWithIdp", "createAuthUri": "createAuthUri", "getOobConfirmationCode": "sendOobCode",
    ]

    /// Handles a call below `projects`.
    private func administrate(_ path: String, _ request: HTTPServerRequest) async -> HTTPResponse {
        // The web SDK asks for the sites at which its pop-ups may be used.
        if path == "projects", request.method == .get {
            return .json(.ok, ["projectId": .string(server.configuration.project), "authorizedDomains": ["localhost"]])
        }
        let own = "projects/\(server.configuration.project)"
        guard server.serviceKeys.isAdministrator(request.headers["Authorization"], now: server.now()) else {
            var response = ToolkitAnswer.error(
                .unauthorized, "UNAUTHENTICATED : This call needs a service account's key.")
            response.headers["WWW-Authenticate"] = "Bearer"
            return response
        }
        guard path.hasPrefix("\(own)/") || path.hasPrefix("\(own):") || server.isEmulator else {
            return ToolkitAnswer.error(.notFound, "PROJECT_NOT_FOUND")
        }
        let parts = path.split(separator: "/", maxSplits: 2).map(String.init)
        let call: String? =
            if parts.count == 3 { parts[2] } else if parts.count == 2, let colon = parts[1].lastIndex(of: ":") {
                String(parts[1][colon...])
            } else { nil }
        guard let call else { return ToolkitAnswer.unknownOperation }
        do { return try await AdministratorRoutes(server: server).handle(call, request) } catch {
            return ToolkitAnswer.answer(to: error)
        }
    }

    /// Runs a handler on the global executor, because hashing a password or signing a token takes
    /// milliseconds, for which the thread of an HTTP server must not be blocked.
    private func onPool<Answer: Sendable>(_ body: @Sendable () async -> Answer) async -> Answer {
        await withTaskExecutorPreference(globalConcurrentExecutor) { await body() }
    }

    private func published(_ request: HTTPServerRequest, _ document: JSON) -> HTTPResponse {
        guard request.method == .get || request.method == .head else { return HTTPResponse(.methodNotAllowed) }
        var response = HTTPResponse.json(.ok, document)
        response.headers["Cache-Control"] = "public, max-age=3600"
        return response
    }

    /// The OpenID Connect Discovery 1.0 document (section 3). It names no authorization endpoint,
    /// because there is no sign-in through a browser.
    private var discovery: JSON {
        [
            "issuer": .string(server.configuration.issuer),
            "jwks_uri": .string("\(server.configuration.issuer)/.well-known/jwks.json"),
            "token_endpoint": .string("\(server.configuration.issuer)/v1/token"),
            "response_types_supported": ["id_token"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"], "grant_types_supported": ["refresh_token"],
            "claims_supported": [
                "iss", "aud", "sub", "iat", "exp", "auth_time", "email", "email_verified", "name", "picture",
                "user_id", "firebase",
            ],
        ]
    }
}

extension HTTPResponse {
    static func json(_ status: HTTPStatus, _ json: JSON) -> HTTPResponse {
        HTTPResponse(
            status, headers: ["Content-Type": "application/json; charset=utf-8", "Cache-Control": "no-store"],
            body: .bytes(json.bytes))
    }
}
