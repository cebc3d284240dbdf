import Cryptography
import JSON

/// Decides whether an OpenID provider's ID token is valid (OpenID Connect Core 1.0 section 3.1.3.7).
/// Pure: keys and time are passed in.
struct OpenIDToken: Sendable {
    /// A public key of a provider, from its JWK set.
    enum Key: Sendable {
        case rsa(RSAPublicKey)
        case ec(ECPublicKey)

        /// Creates a key from a JWK; nil for a key that does not verify RS256 or ES256 signatures.
        init?(_ jwk: JSON) {
            guard jwk["use"] == nil || jwk["use"] == "sig" else { return nil }
            func bytes(_ name: String) -> [UInt8]? {
                jwk[name]?.stringValue.flatMap { Base64.decode($0, alphabet: .url) }
            }
            switch jwk["kty"]?.stringValue {
            case "RSA"?:
                guard jwk["alg"] == nil || jwk["alg"] == "RS256", let modulus = bytes("n"), let exponent = bytes("e"),
                    let key = try? RSAPublicKey(modulus: modulus, exponent: exponent)
                else { return nil }
                self = .rsa(key)
            case "EC"?:
                guard jwk["crv"] == "P-256", let x = bytes("x"), let y = bytes("y"),
                    let key = try? ECPublicKey(x: x, y: y)
                else { return nil }
                self = .ec(key)
            default: return nil
            }
        }

        /// The only algorithm of the key: the token does not choose.
        var algorithm: JSON {
            switch self {
            case .rsa: "RS256"
            case .ec: "ES256"
            }
        }

        func isValid(_ signature: [UInt8], for message: [UInt8]) -> Bool {
            switch self {
            case .rsa(let key): key.isValid(signature, for: message)
            case .ec(let key): key.isValid(signature, for: message)
            }
        }
    }

    struct Expectation: Sendable {
        var issuer: String
        var clientID: String
        /// The nonce that the client chose, before hashing; nil if it has none.
        var nonce: String?
    }

    /// The seconds by which the provider's clock may differ from this one.
    static let skew: Int64 = 300
    /// The maximum age of a token in seconds since its issue.
    static let maximumAge: Int64 = 3600

    private let token: JSONWebToken

    init(_ text: String) throws {
        guard let token = JSONWebToken(text), token.header["crit"] == nil else { throw Self.invalid("is malformed") }
        self.token = token
    }

    /// Checks the signature.
    ///
    /// A token need not name its key if the provider has one key for the algorithm (section 10.1).
    ///
    /// - Throws: `ToolkitRefusal`.
    func checkSignature(_ keys: [(id: String?, key: Key)]) throws {
        let fitting = keys.filter { $0.key.algorithm == token.header["alg"] }
        let candidates = token.header["kid"]?.stringValue.map { id in fitting.filter { $0.id == id } } ?? fitting
        guard candidates.count == 1, let key = candidates.first?.key else {
            throw Self.invalid("is signed with a key that is not known")
        }
        guard key.isValid(token.signature, for: token.signed) else { throw Self.invalid("has a wrong signature") }
    }

    /// Returns the claims of a token whose signature was checked.
    ///
    /// - Throws: `ToolkitRefusal`, which names the violated rule.
    func claims(_ expected: Expectation, now: Int64) throws -> JSONObject {
        let claims = token.claims
        guard claims["iss"]?.stringValue == expected.issuer else {
            throw Self.invalid("was issued by another provider")
        }
        let audiences = claims["aud"]?.arrayValue?.map(\.stringValue) ?? [claims["aud"]?.stringValue]
        guard audiences.contains(expected.clientID) else { throw Self.invalid("is for another client") }
        guard claims["azp"] == nil ? audiences.count == 1 : claims["azp"]?.stringValue == expected.clientID else {
            throw Self.invalid("was issued to another client")
        }
        guard let issued = claims["iat"]?.integerValue, let expires = claims["exp"]?.integerValue else {
            throw Self.invalid("has no times")
        }
        guard expires > now.addingReportingOverflow(-Self.skew).partialValue else { throw Self.invalid("has expired") }
        let (age, overflows) = now.subtractingReportingOverflow(issued)
        guard !overflows, age >= -Self.skew else { throw Self.invalid("is from the future") }
        guard age <= Self.maximumAge + Self.skew else { throw Self.invalid("is too old") }
        try checkNonce(claims["nonce"]?.stringValue, expected.nonce)
        return claims
    }

    /// Checks the nonce. Clients send it raw, and the token has it raw or, as with Apple, as the
    /// hexadecimal SHA-256.
    private func checkNonce(_ claimed: String?, _ raw: String?) throws {
        guard claimed != nil || raw != nil else { return }
        guard let claimed, let raw else {
            throw ToolkitRefusal("MISSING_OR_INVALID_NONCE : The token and the call need the same nonce.")
        }
        let hashed = SHA256.hash(raw).hex
        guard
            ConstantTime.areEqual(Array(claimed.utf8), Array(raw.utf8))
                || ConstantTime.areEqual(Array(claimed.utf8), Array(hashed.utf8))
        else {
            throw ToolkitRefusal("MISSING_OR_INVALID_NONCE : The token was issued for another nonce.")
        }
    }

    static func invalid(_ why: String) -> ToolkitRefusal {
        ToolkitRefusal("INVALID_IDP_RESPONSE : The provider's token \(why).")
    }
}
