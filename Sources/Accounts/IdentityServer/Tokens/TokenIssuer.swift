import JSON

/// Issues ID tokens with the claims of Firebase's tokens, signed with RS256.
///
/// The issuer is the server's own URL, so that OpenID discovery at
/// `<issuer>/.well-known/openid-configuration` leads to the keys. The audience is the project.
struct TokenIssuer: Sendable {
    static let lifetime: Int64 = 3600

    let keys: SigningKeys
    let issuer: String
    let project: String

    func token(for account: Account, provider: SignInProvider, authenticatedAt: Int64, now: Int64) throws -> String {
        var identities: JSONObject = [:]
        if let email = account.email { identities["email"] = [.string(email)] }
        var claims: JSONObject = [
            "iss": .string(issuer), "aud": .string(project), "sub": .string(account.id),
            "user_id": .string(account.id), "iat": .integer(now), "exp": .integer(now + Self.lifetime),
            "auth_time": .integer(authenticatedAt),
            "firebase": .object([
                "identities": .object(identities), "sign_in_provider": .string(provider.rawValue),
            ]),
        ]
        if provider == .anonymous { claims["provider_id"] = "anonymous" }
        if let name = account.displayName { claims["name"] = .string(name) }
        if let picture = account.photoURL { claims["picture"] = .string(picture) }
        if let email = account.email {
            claims["email"] = .string(email)
            claims["email_verified"] = .boolean(account.isEmailVerified)
        }
        return try keys.sign(.object(claims))
    }
}
