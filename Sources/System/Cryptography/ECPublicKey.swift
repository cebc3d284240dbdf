import COpenSSL

/// A public key on the curve P-256 that verifies ES256 signatures (RFC 7518 section 3.4).
///
/// `@unchecked Sendable`: the key never changes, and OpenSSL allows threads to share keys that are
/// only read.
package final class ECPublicKey: @unchecked Sendable {
    /// The size in bytes of a coordinate, and of each number of a signature.
    static let size = 32

    private let key: OpaquePointer

    /// Creates a key from the coordinates of its point, as in `x` and `y` of a JWK.
    ///
    /// - Throws: `CryptographyError` unless the point is on the curve.
    package init(x: [UInt8], y: [UInt8]) throws {
        guard x.count == Self.size, y.count == Self.size,
            let made = ferry_ec_public_key([4] + x + y, Int32(1 + 2 * Self.size))
        else { throw CryptographyError("An EC key has no valid point") }
        key = made
    }

    deinit { EVP_PKEY_free(key) }

    /// Whether a signature, the two numbers of 32 bytes one after the other, is valid.
    package func isValid(_ signature: [UInt8], for message: [UInt8]) -> Bool {
        guard signature.count == 2 * Self.size, let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        defer { ERR_clear_error() }
        let encoded = Self.sequence([signature.prefix(Self.size), signature.suffix(Self.size)])
        return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
            && EVP_DigestVerify(context, encoded, encoded.count, message, message.count) == 1
    }

    /// Returns the numbers as the DER sequence that OpenSSL reads.
    private static func sequence(_ numbers: [ArraySlice<UInt8>]) -> [UInt8] {
        let content = numbers.flatMap { number -> [UInt8] in
            var digits = Array(number.drop { $0 == 0 })
            // A number of DER is signed.
            if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
            return [2, UInt8(digits.count)] + digits
        }
        return [0x30, UInt8(content.count)] + content
    }
}
