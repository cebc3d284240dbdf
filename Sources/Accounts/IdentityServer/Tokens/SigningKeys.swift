package import Cryptography
import IdentityProtocol
package import JSON
import Synchronization
import SystemIO

/// The keys of ID tokens. The newest key that may sign does so, and all keys are accepted, so that a
/// key can be replaced while tokens signed with an older one are still valid.
///
/// They are stored as PEM private keys, newest first, in one file of mode 0600 or in the database.
/// A line `Signs-From: SECONDS` before a key is the time since 1970 from which it signs; PEM allows
/// such text (RFC 7468 section 2).
package struct SigningKeys: Sendable {
    struct Key: Sendable {
        /// The thumbprint (RFC 7638), so that a key has the same id everywhere.
        let id: String
        let key: RSAPrivateKey
        /// The time from which the key signs, in seconds since 1970.
        let signsFrom: Int64

        init(_ key: RSAPrivateKey, signsFrom: Int64 = 0) {
            self.key = key
            self.signsFrom = signsFrom
            let members = SigningKeys.members(of: key.publicKey)
            id = Base64.encode(SHA256.hash(JSON.object(members).bytes).bytes, alphabet: .url)
        }
    }

    /// The seconds for which a new key is published before it signs. Verifiers may keep the published
    /// keys for an hour, and other servers need a moment to learn of it.
    package static let overlap: Int64 = 3600 + 60
    /// The maximum number of keys. Tokens are valid for an hour, so a few are enough.
    private static let keyLimit = 4
    private static let header = "Signs-From: "

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
        try self.init(pem: bytes, place: path)
    }

    /// Reads keys from PEM.
    ///
    /// - Parameter place: The name of their place, for errors.
    init(pem: [UInt8], place: String) throws {
        let end = "-----END PRIVATE KEY-----"
        let blocks = String(decoding: pem, as: UTF8.self).split(separator: end).filter { $0.contains("-----BEGIN") }
        do {
            self.init(
                try blocks.map { block in
                    let start = block.split(separator: "\n").first { $0.hasPrefix(Self.header) }
                    return Key(
                        try RSAPrivateKey(pem: Array((block + end + "\n").utf8)),
                        signsFrom: start.flatMap { Int64($0.dropFirst(Self.header.count)) } ?? 0)
                })
        } catch {
            throw Self.damaged(place, error)
        }
        if keys.isEmpty { throw Self.damaged(place, nil) }
    }

    /// Adds a new key in front, and removes the oldest above the limit.
    ///
    /// - Parameter time: The time from which the new key signs, in seconds since 1970.
    package mutating func rotate(signingFrom time: Int64 = 0) throws {
        keys = [Key(try RSAPrivateKey(), signsFrom: time)] + keys.prefix(Self.keyLimit - 1)
    }

    package func write(to path: String) throws { try FileSystem.replace(path, with: try pem(), mode: 0o600) }

    func pem() throws -> [UInt8] {
        try keys.flatMap { key in
            let header = key.signsFrom > 0 ? Array("\(Self.header)\(key.signsFrom)\n".utf8) : []
            return header + (try key.key.pem())
        }
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

    /// Signs claims with the newest key that signs at a time, in seconds since 1970.
    func sign(_ claims: JSON, now: Int64) throws -> String {
        guard let newest = keys.first(where: { $0.signsFrom <= now }) ?? keys.last else {
            throw IdentityError(.internalFailure, "There is no key to sign with.")
        }
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

    private static func damaged(_ place: String, _ cause: (any Error)?) -> IdentityError {
        IdentityError(
            .damagedFile,
            "\(place) holds no usable signing key. Restore it from a backup, or remove it: a new key is made, and "
                + "clients refresh their tokens by themselves.", cause: cause)
    }
}

/// The signing keys in use, which are replaced while the server runs.
package final class SigningKeyRing: Sendable {
    private let keys: Mutex<SigningKeys>

    init(_ keys: SigningKeys) { self.keys = Mutex(keys) }

    var current: SigningKeys { keys.withLock { $0 } }

    func replace(with new: SigningKeys) { keys.withLock { $0 = new } }

    func publicKey(_ id: String) -> RSAPublicKey? {
        current.keys.first { $0.id == id }?.key.publicKey
    }
}
