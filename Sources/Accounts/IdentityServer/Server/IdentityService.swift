package import HTTPMessages
package import HTTPServer
package import IdentityProtocol
import JSON
import SystemIO

/// The identity part of `ferry-server`: accounts, tokens and their keys, and credentials for the
/// object store.
///
/// It implements the Identity Toolkit's REST interface, OpenID discovery and STS; see `handle`. Its
/// state is in one directory, in `accounts.sqlite` and `signing-keys.pem`, both of mode 0600.
package final class IdentityService: Sendable {
    package struct Configuration: Sendable {
        /// The server's own URL without a slash at its end. It is the issuer of its tokens and the
        /// base of OpenID discovery. If it changes, clients refresh their tokens automatically.
        package var issuer: String
        /// The audience of its tokens.
        package var project: String
        /// Whether to behave like Google's emulator; see `TokenVerifier`.
        package var isEmulator = false
        /// The scrypt cost of new passwords, a power of two.
        package var passwordCost = 1 << 15
        package var signUp = SignUpPolicy.open
        /// Whether requests from this machine come through a proxy, so that they are counted like
        /// those of any other address.
        package var isBehindProxy = false
        /// The quota of accounts for which an administrator has set no other.
        package var quota = AccountQuota()
        /// The OpenID providers with whose accounts users may sign in.
        package var providers: [OpenIDConfiguration] = []
        /// Sends a mail; nil if the server sends none. Returns when it was accepted or refused.
        package var mailer: (@Sendable (Mail) async throws -> Void)?
        /// Returns an account's usage; nil if usage is not counted.
        package var usage: (@Sendable (_ user: String) async throws -> AccountUsage)?

        package init(issuer: String, project: String) {
            self.issuer = issuer
            self.project = project
        }
    }

    package let configuration: Configuration
    package let accounts: Accounts
    package let storage: StorageCredentials
    package let authenticator: Authenticator
    /// The verifier of ID tokens, for servers that verify tokens themselves.
    package let verifier: TokenVerifier

    /// The identifier of this set of accounts, which a backup shares; see `AccountStore.lineage`.
    package let lineage: String

    /// The keys of administrators' programs.
    package let serviceKeys: ServiceKeys
    let emulatedMail = EmulatedMail()
    private let providers: [String: OpenIDProvider]

    let keys: SigningKeys
    let now: @Sendable () -> Int64
    private let store: AccountStore

    /// Opens or creates the state in `directory`, which must exist.
    ///
    /// - Parameter now: Returns the seconds since 1970.
    package init(directory: String, _ configuration: Configuration, now: @escaping @Sendable () -> Int64) async throws {
        self.configuration = configuration
        self.now = now
        keys = try SigningKeys(path: "\(directory)/signing-keys.pem")
        store = try AccountStore(path: "\(directory)/accounts.sqlite")
        // Google's verifiers look for Google's issuers in emulator mode, where nothing is signed for real.
        let project = configuration.project
        let issuer = TokenIssuer(
            keys: keys,
            issuer: configuration.isEmulator ? "https://securetoken.google.com/\(project)" : configuration.issuer,
            cookieIssuer: configuration.isEmulator
                ? "https://session.firebase.google.com/\(project)" : "\(configuration.issuer)/session", project: project
        )
        providers = Dictionary(
            configuration.providers.map { ($0.name, OpenIDProvider($0)) }, uniquingKeysWith: { first, _ in first })
        serviceKeys = try await ServiceKeys(
            store, keys, issuer: configuration.issuer, project: project, isEmulator: configuration.isEmulator)
        let policy = Accounts.Policy(
            signUp: configuration.signUp, limitsSignUps: !configuration.isEmulator,
            isBehindProxy: configuration.isBehindProxy)
        accounts = try Accounts(store, issuer, passwordCost: configuration.passwordCost, policy)
        lineage = try await store.lineage()
        storage = try await StorageCredentials(store, accounts.revocations)
        verifier = TokenVerifier(
            keys: keys.publicKeys, issuer: issuer.issuer, audience: configuration.project,
            isEmulator: configuration.isEmulator)
        authenticator = Authenticator(
            verifier, accounts.revocations, isEmulator: configuration.isEmulator, now: now)
        try await accounts.reload(now: now())
    }

    /// Reloads the data that another process (`ferry-server user`, `keys`) has changed.
    package func reload() async throws {
        try await accounts.reload(now: now())
        try await storage.reload()
        try await serviceKeys.reload()
    }

    var isEmulator: Bool { configuration.isEmulator }

    /// Returns the provider of a name, with or without the prefix `oidc.` that Google's SDKs demand.
    func provider(_ name: String) throws -> OpenIDProvider {
        let short = name.hasPrefix("oidc.") ? String(name.dropFirst("oidc.".count)) : name
        guard let provider = providers[name] ?? providers[short] else {
            throw AccountRoutes.Refusal("OPERATION_NOT_ALLOWED : This server has no OpenID provider of that name.")
        }
        return provider
    }

    /// Returns the identity that a provider's ID token proves. In emulator mode tokens of providers
    /// that are not configured need no signature.
    func identity(_ name: String, token: String, nonce: String?) async throws -> FederatedIdentity {
        do {
            return try await provider(name).verify(token, nonce: nonce, now: now())
        } catch let refusal as AccountRoutes.Refusal where isEmulator && refusal.name.hasPrefix("OPERATION_NOT") {
            let claims = JSONWebToken(token)?.claims ?? (try? JSON(parsing: token, depth: 16))?.objectValue
            guard let claims else { throw OpenIDToken.invalid("is malformed") }
            return try FederatedIdentity(provider: name, claims: claims)
        }
    }

    /// Returns the quota of an account.
    package func quota(of user: String) -> AccountQuota {
        configuration.quota.overridden(by: accounts.quotaOverride(of: user))
    }

    package func close() async { await store.close() }

    /// Handles a request to the identity service; returns nil for any other request, of which
    /// nothing has been read.
    ///
    /// - `POST /v1/accounts:…`, the calls of users, `…/v1/projects/P/accounts…`, those of
    ///   administrators, and `POST /v1/token`, each also below the host name, as in the Auth
    ///   emulator: `/identitytoolkit.googleapis.com/v1/…`, `/securetoken.googleapis.com/v1/token`.
    ///   Any `?key=` is accepted.
    /// - `GET /.well-known/openid-configuration` and `GET /.well-known/jwks.json`
    /// - `POST /` with a form, and `GET /?Action=…`: STS `AssumeRoleWithWebIdentity`
    package func handle(_ request: HTTPServerRequest) async -> HTTPResponse? {
        let path = request.target.path
        switch path {
        case "/.well-known/openid-configuration": return published(request, discovery)
        case "/.well-known/jwks.json": return published(request, keys.jwks)
        case "/", "/sts", "/sts/":
            guard SecurityTokenService.isFor(request) else { return nil }
            return await onPool { await SecurityTokenService(server: self).handle(request) }
        default: break
        }
        for prefix in ["", "/identitytoolkit.googleapis.com"] where path.hasPrefix("\(prefix)/v1/") {
            let rest = String(path.dropFirst(prefix.count + "/v1/".count))
            if rest.hasPrefix("accounts:") {
                let call = String(rest.dropFirst("accounts:".count))
                return await onPool { await AccountRoutes(server: self).handle(call, request) }
            }
            // The documents are below the projects, too.
            guard rest.hasPrefix("projects"), !rest.contains("/databases/") else { continue }
            return await onPool { await administrate(rest, request) }
        }
        if isEmulator, path.hasPrefix("/emulator/v1/") {
            let segments = request.target.segments
            return await onPool {
                do { return try await EmulatorRoutes(server: self).handle(segments, request) } catch {
                    return AccountRoutes.answer(to: error)
                }
            }
        }
        if path == "/v1/token" || path == "/securetoken.googleapis.com/v1/token" {
            return await onPool { await AccountRoutes(server: self).refresh(request) }
        }
        // Other paths of Google's services are not objects of the store, and Google's clients do
        // not read XML errors.
        let isGoogle = [
            "/v1/accounts", "/v2/accounts", "/identitytoolkit.googleapis.com/", "/securetoken.googleapis.com/",
        ].contains { path.hasPrefix($0) }
        return isGoogle ? AccountRoutes.unknownOperation : nil
    }

    /// Handles a call below `projects`.
    private func administrate(_ path: String, _ request: HTTPServerRequest) async -> HTTPResponse {
        // The web SDK asks for the sites at which its pop-ups may be used.
        if path == "projects", request.method == .get {
            return .json(.ok, ["projectId": .string(configuration.project), "authorizedDomains": ["localhost"]])
        }
        let own = "projects/\(configuration.project)"
        guard serviceKeys.isAdministrator(request.headers["Authorization"], now: now()) else {
            var response = AccountRoutes.error(
                .unauthorized, "UNAUTHENTICATED : This call needs a service account's key.")
            response.headers["WWW-Authenticate"] = "Bearer"
            return response
        }
        guard path.hasPrefix("\(own)/") || path.hasPrefix("\(own):") || isEmulator else {
            return AccountRoutes.error(.notFound, "PROJECT_NOT_FOUND")
        }
        let parts = path.split(separator: "/", maxSplits: 2).map(String.init)
        let call: String? =
            if parts.count == 3 { parts[2] } else if parts.count == 2, let colon = parts[1].lastIndex(of: ":") {
                String(parts[1][colon...])
            } else { nil }
        guard let call else { return AccountRoutes.unknownOperation }
        do { return try await AdministratorRoutes(server: self).handle(call, request) } catch {
            return AccountRoutes.answer(to: error)
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
            "issuer": .string(configuration.issuer),
            "jwks_uri": .string("\(configuration.issuer)/.well-known/jwks.json"),
            "token_endpoint": .string("\(configuration.issuer)/v1/token"),
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
