package import Cryptography
package import IdentityProtocol
import JSON

/// Decides whether an ID token is valid. Keys and time are passed in.
///
/// A valid token is signed with RS256 by a known `kid`, has the right issuer and audience and a
/// subject, has not expired, and was not issued in the future by more than the skew (OpenID Connect
/// Core section 3.1.3.7 and Firebase's list).
package struct TokenVerifier: Sendable {
    /// The number of seconds by which the issuer's clock may be ahead of this one.
    package static let skew: Int64 = 60

    private let key: @Sendable (_ id: String) -> RSAPublicKey?
    private let issuer: String
    private let audience: String
    private let isEmulator: Bool

    /// Creates a verifier.
    ///
    /// - Parameter isEmulator: Whether to behave like Google's emulator, which does not check
    ///   signatures, times and issuers.
    package init(keys: [String: RSAPublicKey], issuer: String, audience: String, isEmulator: Bool = false) {
        self.init(key: { keys[$0] }, issuer: issuer, audience: audience, isEmulator: isEmulator)
    }

    /// Creates a verifier with keys that may change.
    ///
    /// - Parameter key: Returns the key of an id; nil for none.
    init(
        key: @escaping @Sendable (_ id: String) -> RSAPublicKey?, issuer: String, audience: String, isEmulator: Bool
    ) {
        self.key = key
        self.issuer = issuer
        self.audience = audience
        self.isEmulator = isEmulator
    }

    /// Returns the verified token.
    ///
    /// - Parameter now: The time in seconds since 1970.
    /// - Throws: `.invalidToken` or `.tokenExpired`. The message names the violated rule, and never
    ///   the content of the token.
    package func verify(_ text: String, now: Int64) throws(IdentityError) -> VerifiedToken {
        guard let token = JSONWebToken(text) else { throw Self.invalid("is malformed") }
        if !isEmulator { try checkSignature(of: token) }
        let claims = token.claims
        guard let subject = (claims["sub"] ?? (isEmulator ? claims["user_id"] : nil))?.stringValue,
            !subject.isEmpty, subject.utf8.count <= 128
        else { throw Self.invalid("has no subject") }
        let issuedAt = claims["iat"]?.integerValue ?? 0
        let verified = VerifiedToken(
            userID: subject, issuer: claims["iss"]?.stringValue ?? "", issuedAt: issuedAt,
            expiresAt: claims["exp"]?.integerValue ?? 0,
            authenticatedAt: claims["auth_time"]?.integerValue ?? issuedAt,
            provider: claims["firebase"]?["sign_in_provider"]?.stringValue ?? "", email: claims["email"]?.stringValue,
            claims: claims)
        if isEmulator { return verified }
        guard verified.issuer == issuer else { throw Self.invalid("was issued by another server") }
        guard claims["aud"]?.stringValue == audience else { throw Self.invalid("is for another project") }
        guard claims["iat"]?.integerValue != nil, claims["exp"]?.integerValue != nil else {
            throw Self.invalid("has no times")
        }
        let soon = now.addingReportingOverflow(Self.skew)
        guard issuedAt <= (soon.overflow ? .max : soon.partialValue) else { throw Self.invalid("is from the future") }
        guard verified.expiresAt > now else {
            throw IdentityError(.tokenExpired, "The ID token has expired; refresh it.")
        }
        return verified
    }

    private func checkSignature(of token: JSONWebToken) throws(IdentityError) {
        guard token.header["alg"] == "RS256" else { throw Self.invalid("is not signed with RS256") }
        // Critical extensions (RFC 7515 section 4.1.11) are not supported.
        guard token.header["crit"] == nil else { throw Self.invalid("needs an extension that is not known") }
        guard let id = token.header["kid"]?.stringValue, let key = key(id) else {
            throw Self.invalid("is signed with a key that is not known")
        }
        guard key.isValid(token.signature, for: token.signed) else { throw Self.invalid("has a wrong signature") }
    }

    private static func invalid(_ why: String) -> IdentityError {
        IdentityError(.invalidToken, "The ID token \(why); sign in again.")
    }
}
