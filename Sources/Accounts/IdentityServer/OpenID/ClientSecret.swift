import Cryptography
import JSON
import SystemIO

/// The proof of a client to its OpenID provider.
package enum ClientSecret: Sendable, Hashable {
    case text(String)
    /// Tokens that the key signs, as Apple demands.
    case signed(ClientSecretKey)
}

/// Makes the secrets of a client at Apple: tokens that are signed with ES256.
///
/// Apple accepts secrets that are valid for at most six months. Each call to the provider gets a new
/// one for an hour, so none can expire in use.
package struct ClientSecretKey: Sendable, Hashable {
    private let pem: [UInt8]
    private let team: String
    private let id: String

    /// The seconds for which a secret is valid.
    static let lifetime: Int64 = 3600

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - pem: The private key as Apple offers it once, a file `AuthKey_ID.p8`.
    ///   - team: The id of the developer's team.
    ///   - id: The id of the key.
    /// - Throws: `CryptographyError` unless the key is one for ES256.
    package init(pem: [UInt8], team: String, id: String) throws {
        _ = try ECPrivateKey(pem: pem)
        (self.pem, self.team, self.id) = (pem, team, id)
    }

    /// Reads a key from a file.
    ///
    /// - Throws: `UnusableClientSecretKey`.
    package init(path: String, team: String, id: String) throws {
        do {
            try self.init(pem: try FileSystem.read(path, limit: 16 << 10), team: team, id: id)
        } catch { throw UnusableClientSecretKey(path: path, id: id, cause: error) }
    }

    /// Returns a secret of a client, for the provider with an issuer.
    package func secret(clientID: String, issuer: String, now: Int64) throws -> String {
        let key = try ECPrivateKey(pem: pem)
        return try JSONWebToken.make(
            header: ["alg": "ES256", "kid": .string(id)],
            claims: [
                "iss": .string(team), "iat": .integer(now), "exp": .integer(now + Self.lifetime),
                "aud": .string(issuer), "sub": .string(clientID),
            ], sign: key.sign)
    }
}

/// A file that is not a key for a client's secrets, or cannot be read.
package struct UnusableClientSecretKey: Error, CustomStringConvertible {
    let path: String
    let id: String
    let cause: any Error

    package var description: String {
        """
        The key of openid in '\(path)' cannot be used. Name the file AuthKey_\(id).p8 that Apple's developer site offers \
        under Keys for Sign in with Apple, and let this user read it. \(cause)
        """
    }
}
