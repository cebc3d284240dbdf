import COpenSSL

/// A public key that verifies RS256 signatures (RSASSA-PKCS1-v1_5 with SHA-256, RFC 7518 §3.3).
///
/// `@unchecked Sendable`: the key never changes, and OpenSSL allows threads to share keys that are
/// only read.
package final class RSAPublicKey: @unchecked Sendable {
    /// The modulus as an unsigned big-endian number without leading zeros, as in `n` of a JWK.
    package let modulus: [UInt8]
    /// The exponent as an unsigned big-endian number without leading zeros, as in `e` of a JWK.
    package let exponent: [UInt8]

    private let key: OpaquePointer

    /// Creates a key of 2048 to 8192 bits. Shorter keys are not safe, and verification with longer
    /// keys could be used to overload the process.
    package init(modulus: [UInt8], exponent: [UInt8]) throws {
        self.modulus = Array(modulus.drop { $0 == 0 })
        self.exponent = Array(exponent.drop { $0 == 0 })
        guard (256...1024).contains(self.modulus.count), (1...8).contains(self.exponent.count) else {
            throw CryptographyError("An RSA key does not have 2048 to 8192 bits")
        }
        let made = ferry_rsa_public_key(
            self.modulus, Int32(self.modulus.count), self.exponent, Int32(self.exponent.count))
        guard let made else { throw CryptographyError("An RSA key has no valid modulus and exponent") }
        key = made
    }

    deinit { EVP_PKEY_free(key) }

    package func isValid(_ signature: [UInt8], for message: [UInt8]) -> Bool {
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        defer { ERR_clear_error() }
        return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}
