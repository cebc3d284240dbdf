import COpenSSL

/// A public key that checks RS256 signatures (RSASSA-PKCS1-v1_5 with SHA-256, RFC 7518 §3.3).
///
/// `@unchecked Sendable`: the key is never changed, and OpenSSL keys that are only read may be shared by threads.
package final class RSAPublicKey: @unchecked Sendable {
    /// Modulus and exponent as unsigned big-endian numbers without leading zeros, as `n` and `e` of a JWK have them.
    package let modulus: [UInt8]
    package let exponent: [UInt8]

    private let key: OpaquePointer

    /// Takes keys from 2048 to 8192 bits; shorter ones are no longer safe, longer ones are an attack on the checker.
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
