import Cryptography
import JSON

/// A JSON Web Token in compact form (RFC 7515 section 3.1), parsed but not verified.
struct JSONWebToken {
    let header: JSONObject
    let claims: JSONObject
    /// The bytes that the signature covers.
    let signed: [UInt8]
    let signature: [UInt8]

    /// The maximum size in bytes, far above that of an ID token with custom claims.
    private static let byteLimit = 16 << 10

    /// Parses a token; returns nil unless it has three parts of base64url, of which the first two
    /// are JSON objects.
    init?(_ text: String) {
        guard text.utf8.count <= Self.byteLimit else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
            let signature = Base64.decode(parts[2], alphabet: .url)
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = signature
        signed = Array("\(parts[0]).\(parts[1])".utf8)
    }

    /// Returns the compact form of a new token.
    static func make(header: JSON, claims: JSON, sign: ([UInt8]) throws -> [UInt8]) rethrows -> String {
        let signed = [header, claims].map { Base64.encode($0.bytes, alphabet: .url) }.joined(separator: ".")
        return "\(signed).\(Base64.encode(try sign(Array(signed.utf8)), alphabet: .url))"
    }

    private static func object(_ text: Substring) -> JSONObject? {
        Base64.decode(text, alphabet: .url).flatMap { try? JSON(parsing: $0, depth: 16) }?.objectValue
    }
}
