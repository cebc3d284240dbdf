import Cryptography
package import JSON

/// The file of a service account's key, with which a program proves that it is an administrator's.
package struct ServiceAccountFile: Sendable {
    private let email: String
    private let keyID: String
    private let key: RSAPrivateKey
    /// The URL at which the server issues access tokens.
    package let tokenURL: String

    /// Reads the form that `ServiceKeys.add` returns, which is Google's; nil for anything else.
    package init?(_ json: JSON) {
        guard json["type"]?.stringValue == "service_account", let email = json["client_email"]?.stringValue,
            let keyID = json["private_key_id"]?.stringValue, let tokenURL = json["token_uri"]?.stringValue,
            let pem = json["private_key"]?.stringValue, let key = try? RSAPrivateKey(pem: Array(pem.utf8))
        else { return nil }
        (self.email, self.keyID, self.key, self.tokenURL) = (email, keyID, key, tokenURL)
    }

    /// The body of the request for an access token (RFC 7523).
    ///
    /// - Parameter now: The seconds since 1970.
    package func tokenRequest(now: Int64) throws -> JSON {
        let claims: JSON = [
            "iss": .string(email), "sub": .string(email), "aud": .string(tokenURL), "iat": .integer(now),
            "exp": .integer(now + ServiceKeys.lifetime),
        ]
        let assertion = try JSONWebToken.make(
            header: ["alg": "RS256", "kid": .string(keyID), "typ": "JWT"], claims: claims, sign: key.sign)
        return ["grant_type": .string(ServiceKeys.grant), "assertion": .string(assertion)]
    }
}
