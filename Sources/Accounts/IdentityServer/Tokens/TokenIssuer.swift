import JSON

/// Issues ID tokens with the claims of Firebase's tokens, signed with RS256.
///
/// The issuer is the server's own URL, so that OpenID discovery at
/// `<issuer>/.well-known/openid-configuration` leads to the keys. The audience is the project.
struct TokenIssuer: Sendable {
    static let lifetime: Int64 = 3600

    let keys: SigningKeyRing
    /// `iss` of the tokens.
    let issuer: String
    /// `iss` of session cookies.
    let cookieIssuer: String
    let project: String

    /// The longest that custom claims may be, in bytes of JSON.
    static let customClaimsLimit = 1000
    /// The claims that have a meaning of their own, so that no custom claim may have their names.
    static let reservedClaims: Set<String> = [
        "acr", "amr", "at_hash", "aud", "auth_time", "azp", "cnf", "c_hash", "exp", "firebase", "iat", "iss", "jti",
        "nbf", "nonce", "sub",
    ]

    /// Returns a new ID token.
    ///
    /// - Parameter claims: The claims of the custom token with which the session was opened.
    func token(
        for account: Account, provider: SignInProvider, claims custom: JSONObject = [:], authenticatedAt: Int64,
        now: Int64
    ) throws -> String {
        let issuedAt = account.tokenTime(now: now)
        var identities: JSONObject = [:]
        for link in account.links { identities[link.provider] = [.string(link.subject)] }
        if let email = account.email { identities["email"] = [.string(email)] }
        // The standard claims come last, so that no custom one can replace them.
        var claims = account.customClaims
        for (name, value) in custom { claims[name] = value }
        let standard: JSONObject = [
            "iss": .string(issuer), "aud": .string(project), "sub": .string(account.id),
            "user_id": .string(account.id), "iat": .integer(issuedAt), "exp": .integer(issuedAt + Self.lifetime),
            "auth_time": .integer(authenticatedAt),
            "firebase": .object([
                "identities": .object(identities), "sign_in_provider": .string(provider.rawValue),
            ]),
        ]
        for (name, value) in standard { claims[name] = value }
        for name in ["email", "email_verified", "name", "picture", "provider_id"] { claims[name] = nil }
        if provider == .anonymous { claims["provider_id"] = "anonymous" }
        if let name = account.displayName { claims["name"] = .string(name) }
        if let picture = account.photoURL { claims["picture"] = .string(picture) }
        if let email = account.email {
            claims["email"] = .string(email)
            claims["email_verified"] = .boolean(account.isEmailVerified)
        }
        return try keys.current.sign(.object(claims), now: now)
    }

    /// Returns a session cookie: an ID token that lives longer and names another issuer, so that
    /// neither can be used as the other.
    func cookie(for token: VerifiedToken, lifetime: Int64, now: Int64) throws -> String {
        var claims = token.claims
        claims["iss"] = .string(cookieIssuer)
        // The token may have been issued a second ahead: see `Account.tokenTime`.
        claims["iat"] = .integer(max(now, token.issuedAt))
        claims["exp"] = .integer(now + lifetime)
        return try keys.current.sign(.object(claims), now: now)
    }
}
