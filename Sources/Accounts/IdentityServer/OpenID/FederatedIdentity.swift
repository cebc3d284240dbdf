import JSON

/// A user as an OpenID provider's verified token describes it.
struct FederatedIdentity: Sendable, Hashable {
    var link: ProviderLink
    /// Whether the provider has verified the address.
    var isEmailVerified: Bool
    /// All claims of the token.
    var claims: JSONObject

    init(provider: String, claims: JSONObject) throws {
        guard let subject = claims["sub"]?.stringValue, (1...256).contains(subject.utf8.count) else {
            throw ToolkitRefusal("INVALID_IDP_RESPONSE : The provider's token has no subject.")
        }
        link = ProviderLink(
            provider: provider, subject: subject, email: claims["email"]?.stringValue,
            displayName: claims["name"]?.stringValue, photoURL: claims["picture"]?.stringValue)
        // Apple writes the flag as a string.
        isEmailVerified = claims["email_verified"] == true || claims["email_verified"] == "true"
        self.claims = claims
    }
}
