import Cryptography
import HTTPClient
import HTTPMessages
import IdentityProtocol
import JSON

/// An OpenID provider: its endpoints by discovery, and its keys, which are cached and fetched again
/// when they are replaced.
actor OpenIDProvider {
    nonisolated let configuration: OpenIDConfiguration
    private let client: HTTPClient
    private var metadata: (value: Metadata, at: Int64)?
    private var keys: (value: [(id: String?, key: OpenIDToken.Key)], at: Int64)?

    /// The seconds for which metadata and keys are used without another look.
    private static let freshness: Int64 = 3600
    /// The seconds between two looks for a key that is not known, so that forged tokens do not make
    /// the server call the provider.
    private static let patience: Int64 = 10
    private static let documentLimit = 256 << 10
    private static let keyLimit = 64

    /// The endpoints of a provider (OpenID Connect Discovery 1.0 section 3).
    struct Metadata: Sendable {
        let authorization: String
        let token: String
        let keys: String
        /// The endpoint of the device authorization grant (RFC 8628); nil if there is none.
        let device: String?
    }

    init(_ configuration: OpenIDConfiguration, client: HTTPClient = HTTPClient()) {
        self.configuration = configuration
        self.client = client
    }

    /// Verifies an ID token of the provider.
    ///
    /// - Parameter nonce: The raw nonce; nil if the client has none.
    /// - Throws: `ToolkitRefusal` for a token that is not valid, `IdentityError` with
    ///   `.offline` if the provider cannot be reached.
    func verify(_ text: String, nonce: String?, now: Int64) async throws -> FederatedIdentity {
        let token = try OpenIDToken(text)
        let expected = OpenIDToken.Expectation(
            issuer: configuration.issuer, clientID: configuration.clientID, nonce: nonce)
        do {
            try token.checkSignature(try await currentKeys(now: now))
        } catch let refusal as ToolkitRefusal {
            // The provider may have new keys.
            guard (keys?.at ?? 0) + Self.patience <= now else { throw refusal }
            try token.checkSignature(try await fetchKeys(now: now))
        }
        return try FederatedIdentity(provider: configuration.name, claims: try token.claims(expected, now: now))
    }

    /// Returns the provider's endpoints.
    func endpoints(now: Int64) async throws -> Metadata {
        if let metadata, metadata.at + Self.freshness > now { return metadata.value }
        var issuer = configuration.issuer
        if issuer.hasSuffix("/") { issuer.removeLast() }
        let document = try await fetch("\(issuer)/.well-known/openid-configuration")
        // Otherwise another provider's metadata could be put in the place of this one's.
        guard document["issuer"]?.stringValue == configuration.issuer,
            let authorization = document["authorization_endpoint"]?.stringValue,
            let token = document["token_endpoint"]?.stringValue, let keys = document["jwks_uri"]?.stringValue
        else { throw Self.unusable("its discovery document is not that of \(configuration.issuer)") }
        let value = Metadata(
            authorization: authorization, token: token, keys: keys,
            device: document["device_authorization_endpoint"]?.stringValue)
        metadata = (value, now)
        return value
    }

    // MARK: the provider's endpoints for clients

    /// Returns the URL at which a user's browser signs in (RFC 6749 section 4.1.1).
    ///
    /// - Parameter parameters: Further parameters of the client, such as `state`, `nonce` and
    ///   `code_challenge`. They cannot replace those that the server sets.
    func authorizationURL(redirect: String, parameters: [(String, String)], now: Int64) async throws -> String {
        let endpoint = try await endpoints(now: now).authorization
        let own = [
            ("response_type", "code"), ("client_id", configuration.clientID), ("redirect_uri", redirect),
            ("scope", "openid email profile"),
        ]
        let others = parameters.filter { name, _ in !own.contains { $0.0 == name } }
        return endpoint + (endpoint.contains("?") ? "&" : "?") + Self.form(own + others)
    }

    /// Exchanges an authorization code for an ID token (RFC 6749 section 4.1.3, RFC 7636).
    func exchange(code: String, verifier: String?, redirect: String, now: Int64) async throws -> String {
        var items = [("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirect)]
        if let verifier { items.append(("code_verifier", verifier)) }
        return try await token(items, now: now)
    }

    /// Begins a sign-in on another device (RFC 8628), and returns the provider's answer.
    func beginDevice(now: Int64) async throws -> JSON {
        guard let endpoint = try await endpoints(now: now).device else {
            throw ToolkitRefusal("OPERATION_NOT_ALLOWED : The provider has no sign-in for devices.")
        }
        let (status, answer) = try await post(endpoint, [("scope", "openid email profile")], now: now)
        guard status == .ok else { throw Self.refusal(answer) }
        return answer
    }

    /// Returns the ID token of a sign-in on another device.
    ///
    /// - Throws: `ToolkitRefusal` with `AUTHORIZATION_PENDING` while the user has not answered.
    func finishDevice(code: String, now: Int64) async throws -> String {
        try await token(
            [("grant_type", "urn:ietf:params:oauth:grant-type:device_code"), ("device_code", code)], now: now)
    }

    private func token(_ items: [(String, String)], now: Int64) async throws -> String {
        let (status, answer) = try await post(try await endpoints(now: now).token, items, now: now)
        guard status == .ok else { throw Self.refusal(answer) }
        guard let token = answer["id_token"]?.stringValue else {
            throw ToolkitRefusal("INVALID_IDP_RESPONSE : The provider returned no ID token.")
        }
        return token
    }

    private func post(_ url: String, _ items: [(String, String)], now: Int64) async throws -> (HTTPStatus, JSON) {
        var items = items
        var headers: HTTPHeaders = [
            "Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json",
        ]
        switch configuration.secret {
        case .text(let secret)?:
            let user = PercentEncoding.encode(configuration.clientID)
            headers["Authorization"] =
                "Basic \(Base64.encode(Array("\(user):\(PercentEncoding.encode(secret))".utf8)))"
        case .signed(let key)?:
            // Apple reads it from the form only.
            let secret = try key.secret(clientID: configuration.clientID, issuer: configuration.issuer, now: now)
            items += [("client_id", configuration.clientID), ("client_secret", secret)]
        case nil: items.append(("client_id", configuration.clientID))
        }
        do {
            let response = try await client.send(
                HTTPRequest(
                    .post, url, headers: headers, body: .text(Self.form(items)), timeouts: Self.timeouts))
            let bytes = try await response.body.collect(limit: Self.documentLimit)
            return (response.status, (try? JSON(parsing: bytes, depth: 16)) ?? .null)
        } catch { throw Self.unusable("it cannot be reached", error) }
    }

    /// Returns the refusal for an error of the provider (RFC 6749 section 5.2).
    private static func refusal(_ answer: JSON) -> ToolkitRefusal {
        switch answer["error"]?.stringValue {
        case "authorization_pending"?, "slow_down"?: ToolkitRefusal("AUTHORIZATION_PENDING")
        case "access_denied"?: ToolkitRefusal("USER_CANCELLED")
        case "invalid_grant"?, "expired_token"?:
            ToolkitRefusal("INVALID_IDP_RESPONSE : The provider's code is wrong, used or expired.")
        default: ToolkitRefusal("INVALID_IDP_RESPONSE : The provider refused the code.")
        }
    }

    private static func form(_ items: [(String, String)]) -> String {
        items.map { "\($0.0)=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
    }

    private static let timeouts = HTTPRequest.Timeouts(
        connect: .seconds(5), stall: .seconds(5), total: .seconds(10))

    // MARK: keys

    private func currentKeys(now: Int64) async throws -> [(id: String?, key: OpenIDToken.Key)] {
        if let keys, keys.at + Self.freshness > now { return keys.value }
        return try await fetchKeys(now: now)
    }

    private func fetchKeys(now: Int64) async throws -> [(id: String?, key: OpenIDToken.Key)] {
        let document = try await fetch(try await endpoints(now: now).keys)
        var found: [(id: String?, key: OpenIDToken.Key)] = []
        for jwk in (document["keys"]?.arrayValue ?? []).prefix(Self.keyLimit) {
            if let key = OpenIDToken.Key(jwk) { found.append((jwk["kid"]?.stringValue, key)) }
        }
        keys = (found, now)
        return found
    }

    private func fetch(_ url: String) async throws -> JSON {
        do {
            let response = try await client.send(
                HTTPRequest(.get, url, timeouts: Self.timeouts))
            guard response.status == .ok else { throw Self.unusable("it answered \(response.status)") }
            return try JSON(parsing: try await response.body.collect(limit: Self.documentLimit), depth: 16)
        } catch let error as IdentityError {
            throw error
        } catch {
            throw Self.unusable("it cannot be reached", error)
        }
    }

    private static func unusable(_ why: String, _ cause: (any Error)? = nil) -> IdentityError {
        IdentityError(.offline, "The OpenID provider cannot be used: \(why).", cause: cause)
    }
}
