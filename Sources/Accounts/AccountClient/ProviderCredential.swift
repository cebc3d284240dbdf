/// The proof that a user has brought from an OpenID provider: a code, or the provider's own ID token.
package struct ProviderCredential: Sendable, Hashable {
    package enum Proof: Sendable, Hashable {
        /// An authorization code, the verifier of its challenge (RFC 7636), and the redirect.
        case code(String, verifier: String, redirect: String)
        case deviceCode(String)
        case idToken(String)
    }

    /// The server's name of the provider.
    package var provider: String
    package var proof: Proof
    /// The nonce that the provider's token must have; nil if none was asked for.
    package var nonce: String?

    package init(provider: String, proof: Proof, nonce: String? = nil) {
        self.provider = provider
        self.proof = proof
        self.nonce = nonce
    }
}

/// The answer to a credential.
package enum ProviderAnswer: Sendable {
    case signedIn(Session)
    /// The credential signs in to another account than the one that it should be linked to. The
    /// credential that is returned signs in to that.
    case inUse(ProviderCredential)
    /// An account has the provider's address but is not linked to the provider.
    case needsConfirmation(email: String)
    /// The user has not answered on the other device yet.
    case pending
}

/// A sign-in on another device that has begun (RFC 8628).
package struct DeviceSignIn: Sendable {
    package let deviceCode: String
    /// The code that the user types in.
    package let userCode: String
    /// The page on which the user types it in.
    package let url: String
    /// The time between two questions whether the user has answered.
    package let interval: Duration
    package let lifetime: Duration
}
