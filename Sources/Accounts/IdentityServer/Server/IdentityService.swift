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
        let issuer = TokenIssuer(keys: keys, issuer: configuration.issuer, project: configuration.project)
        let policy = Accounts.Policy(
            signUp: configuration.signUp, limitsSignUps: !configuration.isEmulator,
            isBehindProxy: configuration.isBehindProxy)
        accounts = try Accounts(store, issuer, passwordCost: configuration.passwordCost, policy)
        lineage = try await store.lineage()
        storage = try await StorageCredentials(store, accounts.revocations)
        verifier = TokenVerifier(
            keys: keys.publicKeys, issuer: configuration.issuer, audience: configuration.project,
            isEmulator: configuration.isEmulator)
        authenticator = Authenticator(
            verifier, accounts.revocations, isEmulator: configuration.isEmulator, now: now)
        try await accounts.reload(now: now())
    }

    /// Reloads the data that another process (`ferry-server user`, `keys`) has changed.
    package func reload() async throws {
        try await accounts.reload(now: now())
        try await storage.reload()
    }

    /// Returns the quota of an account.
    package func quota(of user: String) -> AccountQuota {
        configuration.quota.overridden(by: accounts.quotaOverride(of: user))
    }

    package func close() async { await store.close() }

    /// Handles a request to the identity service; returns nil for any other request, of which
    /// nothing has been read.
    ///
    /// - `POST /v1/accounts:signUp`, `:signInWithPassword`, `:lookup`, `:update`, `:delete`,
    ///   `:resetPassword` and `POST /v1/token`, each also below the host name, as in the Auth
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
        for prefix in ["", "/identitytoolkit.googleapis.com"] where path.hasPrefix("\(prefix)/v1/accounts:") {
            let call = String(path.dropFirst(prefix.count + "/v1/accounts:".count))
            return await onPool { await AccountRoutes(server: self).handle(call, request) }
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

    /// Runs a handler on the global executor, because hashing a password or signing a token takes
    /// milliseconds, for which the thread of an HTTP server must not be blocked.
    private func onPool(_ body: @Sendable () async -> HTTPResponse) async -> HTTPResponse {
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
