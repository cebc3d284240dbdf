import Cryptography
import IdentityProtocol
package import JSON
import Synchronization

/// Recognizes the programs of administrators by the keys of their service accounts.
///
/// As in Google's scheme, a program signs an assertion with its key, exchanges it for an access
/// token, and sends that with its calls. Custom tokens are signed with the same keys.
package final class ServiceKeys: Sendable {
    private struct Known: Sendable {
        let key: ServiceAccountKey
        let publicKey: RSAPublicKey
    }

    /// The seconds for which an access token is valid.
    static let lifetime: Int64 = 3600
    /// The audience of custom tokens, which Google's libraries write into them.
    static let customTokenAudience =
        "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"
    static let grant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    /// The scope that a key's holder has, whatever the assertion asks for.
    private static let typ = "at+jwt"

    private let store: AccountStore
    private let signing: SigningKeyRing
    private let issuer: String
    private let project: String
    private let isEmulator: Bool
    private let known = Mutex<[String: Known]>([:])

    init(_ store: AccountStore, _ signing: SigningKeyRing, issuer: String, project: String, isEmulator: Bool)
        async throws
    {
        self.store = store
        self.signing = signing
        self.issuer = issuer
        self.project = project
        self.isEmulator = isEmulator
        try await reload()
    }

    /// Reads the keys again, which another process may have changed.
    func reload() async throws {
        var keys: [String: Known] = [:]
        for key in try await store.serviceAccounts.all() {
            keys[key.keyID] = Known(
                key: key, publicKey: try RSAPublicKey(modulus: key.modulus, exponent: key.exponent))
        }
        known.withLock { [keys] in $0 = keys }
    }

    // MARK: keys

    /// Creates a key, and returns its file in the form that Google's libraries read. The private key
    /// is nowhere else.
    ///
    /// - Parameter url: The URL of the server as the program reaches it.
    package func add(label: String, url: String, project: String, now: Int64) async throws -> JSON {
        let key = try RSAPrivateKey()
        let id = Hex.encode(RandomBytes.make(20))
        let email = "admin-\(id.prefix(8))@\(project).ferry.invalid"
        try await store.serviceAccounts.add(
            ServiceAccountKey(
                keyID: id, email: email, modulus: key.publicKey.modulus, exponent: key.publicKey.exponent,
                label: label, createdAt: now))
        return [
            "type": "service_account", "project_id": .string(project), "private_key_id": .string(id),
            "private_key": .string(String(decoding: try key.pem(), as: UTF8.self)), "client_email": .string(email),
            "client_id": .string(id), "token_uri": .string("\(url)/v1/token"),
        ]
    }

    package func list() async throws -> [ServiceAccountKey] { try await store.serviceAccounts.all() }

    /// Removes a key. Returns false if there is none.
    package func remove(_ keyID: String) async throws -> Bool {
        known.withLock { $0[keyID] = nil }
        return try await store.serviceAccounts.remove(keyID)
    }

    // MARK: access tokens

    /// Returns an access token for an assertion (RFC 7523).
    ///
    /// - Throws: `ToolkitRefusal`, which never repeats the assertion.
    func accessToken(for assertion: String, now: Int64) throws -> String {
        guard let token = JSONWebToken(assertion), let key = try signer(of: token),
            token.claims["iss"]?.stringValue == key.email, isHere(token.claims["aud"]),
            Self.isCurrent(token.claims, now: now)
        else { throw ToolkitRefusal("invalid_grant") }
        let claims: JSON = [
            "iss": .string(issuer), "aud": .string(audience), "sub": .string(key.email), "kid": .string(key.keyID),
            "iat": .integer(now), "exp": .integer(now + Self.lifetime),
        ]
        return try signing.current.sign(claims, now: now)
    }

    /// Whether an `Authorization` header proves an administrator.
    func isAdministrator(_ authorization: String?, now: Int64) -> Bool {
        guard let words = authorization?.split(separator: " ", maxSplits: 1), words.count == 2,
            words[0].lowercased() == "bearer"
        else { return false }
        if isEmulator, words[1] == "owner" { return true }
        guard let token = JSONWebToken(String(words[1])), token.header["alg"] == "RS256", token.header["crit"] == nil,
            let id = token.header["kid"]?.stringValue, let key = signing.publicKey(id),
            key.isValid(token.signature, for: token.signed), token.claims["iss"]?.stringValue == issuer,
            token.claims["aud"]?.stringValue == audience, Self.isCurrent(token.claims, now: now),
            let serviceKey = token.claims["kid"]?.stringValue
        else { return false }
        // A removed key takes its tokens along.
        return known.withLock { $0[serviceKey] != nil }
    }

    /// The audience of access tokens. No project has such a name, so that neither an access token
    /// can be used as an ID token nor an ID token as an access token.
    private var audience: String { "\(issuer)/administration" }

    private func isHere(_ audience: JSON?) -> Bool {
        guard let audience = audience?.stringValue else { return false }
        return audience.hasSuffix("/v1/token") || audience == "https://oauth2.googleapis.com/token"
    }

    // MARK: custom tokens

    struct CustomToken: Sendable {
        let userID: String
        let claims: JSONObject
    }

    /// Returns the content of a custom token. In emulator mode it needs no signature.
    func customToken(_ text: String, now: Int64) throws -> CustomToken {
        guard let token = JSONWebToken(text) else { throw ToolkitRefusal("INVALID_CUSTOM_TOKEN") }
        if !isEmulator {
            guard let key = try signer(of: token) else { throw ToolkitRefusal("INVALID_CUSTOM_TOKEN") }
            guard token.claims["iss"]?.stringValue == key.email, token.claims["sub"]?.stringValue == key.email else {
                throw ToolkitRefusal("CREDENTIAL_MISMATCH")
            }
            guard Self.isCurrent(token.claims, now: now) else {
                throw ToolkitRefusal("INVALID_CUSTOM_TOKEN : The token has expired.")
            }
        }
        guard token.claims["aud"]?.stringValue == Self.customTokenAudience,
            let user = token.claims["uid"]?.stringValue ?? token.claims["user_id"]?.stringValue
        else { throw ToolkitRefusal("INVALID_CUSTOM_TOKEN") }
        let claims = token.claims["claims"] ?? .object([:])
        return CustomToken(userID: try AccountFields.id(user), claims: try AccountFields.customClaims(claims))
    }

    /// Returns the key with which a token is signed; nil if the signature is not valid. A token need
    /// not name its key, because each has an address of its own.
    private func signer(of token: JSONWebToken) throws -> ServiceAccountKey? {
        let named = token.header["kid"]?.stringValue
        let issuer = token.claims["iss"]?.stringValue
        guard token.header["alg"] == "RS256", token.header["crit"] == nil,
            let known = known.withLock({ keys in
                if let named { keys[named] } else { keys.values.first { $0.key.email == issuer } }
            }),
            known.publicKey.isValid(token.signature, for: token.signed)
        else { return nil }
        return known.key
    }

    /// Whether a token was issued and has not expired, and lives for at most an hour.
    private static func isCurrent(_ claims: JSONObject, now: Int64) -> Bool {
        guard let issued = claims["iat"]?.integerValue, let expires = claims["exp"]?.integerValue,
            issued <= now.addingReportingOverflow(TokenVerifier.skew).partialValue, expires > now
        else { return false }
        let (lifetime, overflows) = expires.subtractingReportingOverflow(issued)
        return !overflows && lifetime <= Self.lifetime + TokenVerifier.skew
    }
}
