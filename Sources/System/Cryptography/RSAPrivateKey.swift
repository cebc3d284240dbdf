import COpenSSL

/// A key that creates RS256 signatures (RSASSA-PKCS1-v1_5 with SHA-256, RFC 7518 §3.3).
///
/// `@unchecked Sendable`: the key never changes, and OpenSSL allows threads to share keys that are
/// only read.
package final class RSAPrivateKey: @unchecked Sendable {
    package let publicKey: RSAPublicKey

    private let key: OpaquePointer

    /// Generates a new key of 2048 bits, which takes a few tenths of a second.
    package convenience init() throws {
        guard let context = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil) else {
            throw CryptographyError("OpenSSL has no RSA")
        }
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048) == 1,
            EVP_PKEY_generate(context, &key) == 1, let key
        else { throw CryptographyError("An RSA key could not be made") }
        try self.init(owning: key)
    }

    /// Creates a key from an unencrypted PEM private key.
    package convenience init(pem: [UInt8]) throws {
        try self.init(owning: try PrivateKeyPEM.read(pem))
    }

    private init(owning key: OpaquePointer) throws {
        self.key = key
        do {
            publicKey = try RSAPublicKey(
                modulus: try Self.number(OSSL_PKEY_PARAM_RSA_N, of: key),
                exponent: try Self.number(OSSL_PKEY_PARAM_RSA_E, of: key))
        } catch {
            EVP_PKEY_free(key)
            throw error
        }
    }

    deinit { EVP_PKEY_free(key) }

    /// Returns the key as unencrypted PEM (PKCS #8), for a file that only its owner can read.
    package func pem() throws -> [UInt8] {
        let failure = "A private key could not be written"
        guard let sink = BIO_new(BIO_s_mem()) else { throw CryptographyError(failure) }
        defer { BIO_free(sink) }
        var text = [UInt8](repeating: 0, count: 16 << 10)
        guard PEM_write_bio_PKCS8PrivateKey(sink, key, nil, nil, 0, nil, nil) == 1 else {
            throw CryptographyError(failure)
        }
        let count = BIO_read(sink, &text, Int32(text.count))
        guard count > 0, Int(count) < text.count else { throw CryptographyError(failure) }
        return Array(text[..<Int(count)])
    }

    package func sign(_ message: [UInt8]) throws -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { throw CryptographyError("A signature could not be made") }
        defer { EVP_MD_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: publicKey.modulus.count)
        var count = signature.count
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            EVP_DigestSign(context, &signature, &count, message, message.count) == 1
        else { throw CryptographyError("A signature could not be made") }
        return Array(signature.prefix(count))
    }

    /// Whether the components of the key are consistent. OpenSSL may sign with a key that has a
    /// damaged component.
    package var isConsistent: Bool {
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else { return false }
        defer { EVP_PKEY_CTX_free(context) }
        return EVP_PKEY_check(context) == 1
    }

    private static func number(_ name: String, of key: OpaquePointer) throws -> [UInt8] {
        var number: OpaquePointer?
        guard EVP_PKEY_get_bn_param(key, name, &number) == 1, let number else {
            throw CryptographyError("A private key is not an RSA key")
        }
        defer { BN_free(number) }
        var bytes = [UInt8](repeating: 0, count: (Int(BN_num_bits(number)) + 7) / 8)
        guard BN_bn2bin(number, &bytes) == Int32(bytes.count) else {
            throw CryptographyError("A private key is not an RSA key")
        }
        return bytes
    }
}
