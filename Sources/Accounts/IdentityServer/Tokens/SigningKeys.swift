package import Cryptography
import IdentityProtocol
package import JSON
import SystemIO

/// The keys of ID tokens. The newest key signs and all keys are accepted, so that a key can be
/// replaced while tokens signed with an older one are still valid.
///
/// On disk they are PEM private keys in one file of mode 0600, newest first.
package struct SigningKeys: Sendable {
    struct Key: Sendable {
        /// The thumbprint (RFC 7638), so that a key has the same id everywhere.
        let id: String
        let key: RSAPrivateKey

        init(_ key: RSAPrivateKey) {
            self.key = key
            let members = SigningKeys.members(of: key.publicKey)
            id = Base64.encode(SHA256.hash(JSON.object(members).bytes).bytes, alphabet: .url)
        }
    }

    /// The maximum number of keys. Tokens are valid for an hour, so a few are enough.
    private static let keyLimit = 4

    private(set) var keys: [Key]

    private init(_ keys: [Key]) { self.keys = keys }

    /// Creates a set of one new key.
    package init() throws { self.init([Key(try RSAPrivateKey())]) }

    /// Reads the file, or creates it with a new key if it does not exist.
    package init(path: String) throws {
        guard let bytes = try FileSystem.readIfPresent(path, limit: 1 << 20) else {
            try self.init()
            try write(to: path)
            return
        }
        let end = "-----END PRIVATE KEY-----"
        let blocks = String(decoding: bytes, as: UTF8.self).split(separator: end).filter { $0.contains("-----BEGIN") }
        do {
            self.init(try blocks.map { Key(try RSAPrivateKey(pem: Array(($0 + end + "\n").utf8))) })
        } catch {
            throw Self.damaged(path, error)
        }
        if keys.isEmpty { throw Self.damaged(path, nil) }
    }

    /// Adds a new key in front, and removes the oldest above the limit.
    package mutating func rotate() throws {
        keys = [Key(try RSAPrivateKey())] + keys.prefix(Self.keyLimit - 1)
    }

    package func write(to path: String) throws {
        try FileSystem.replace(path, with: try keys.flatMap { try $0.key.pem() }, mode: 0o600)
    }

    package var publicKeys: [String: RSAPublicKey] {
        Dictionary(keys.map { ($0.id, $0.key.publicKey) }, uniquingKeysWith: { first, _ in first })
    }

    /// The JWK set (RFC 7517) that the server publishes.
    package var jwks: JSON {
        .object([
            "keys": .array(
                keys.map { key in
                    var members = Self.members(of: key.key.publicKey)
                    members["kid"] = .string(key.id)
                    members["use"] = "sig"
                    members["alg"] = "RS256"
                    return .object(members)
                })
        ])
    }

    /// Signs claims with the newest key.
    func sign(_ claims: JSON) throws -> String {
        guard let newest = keys.first else { throw IdentityError(.internalFailure, "There is no key to sign with.") }
        return try JSONWebToken.make(
            header: ["alg": "RS256", "kid": .string(newest.id), "typ": "JWT"], claims: claims, sign: newest.key.sign)
    }

    /// Returns the members that the thumbprint covers, in its order.
    private static func members(of key: RSAPublicKey) -> JSONObject {
        [
            "e": .string(Base64.encode(key.exponent, alphabet: .url)), "kty": "RSA",
            "n": .string(Base64.encode(key.modulus, alphabet: .url)),
        ]
    }

    private static func damaged(_ path: String, _ cause: (any Error)?) -> IdentityError {
        IdentityError(
            .damagedFile,
            "\(path) holds no usable signing key. Restore it from a backup, or remove it: a new key is made, and "
                + "clients refresh their tokens by themselves.", cause: cause)
    }
}
