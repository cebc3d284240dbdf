import COpenSSL

/// A key on the curve P-256 that creates ES256 signatures (RFC 7518 section 3.4).
///
/// `@unchecked Sendable`: the key never changes, and OpenSSL allows threads to share keys that are
/// only read.
package final class ECPrivateKey: @unchecked Sendable {
    package let publicKey: ECPublicKey

    private let key: OpaquePointer

    /// Creates a key from an unencrypted PEM private key.
    ///
    /// - Throws: `CryptographyError` for other text, and for a key of another kind or curve.
    package init(pem: [UInt8]) throws {
        let key = try PrivateKeyPEM.read(pem)
        do {
            publicKey = try ECPublicKey(
                x: try Self.coordinate(OSSL_PKEY_PARAM_EC_PUB_X, of: key),
                y: try Self.coordinate(OSSL_PKEY_PARAM_EC_PUB_Y, of: key))
        } catch {
            EVP_PKEY_free(key)
            throw error
        }
        self.key = key
    }

    deinit { EVP_PKEY_free(key) }

    /// Returns the signature of a message, two numbers of 32 bytes one after the other.
    package func sign(_ message: [UInt8]) throws -> [UInt8] {
        let failure = "A signature could not be made"
        guard let context = EVP_MD_CTX_new() else { throw CryptographyError(failure) }
        defer { EVP_MD_CTX_free(context) }
        // A DER sequence of two signed numbers has at most 72 bytes.
        var encoded = [UInt8](repeating: 0, count: 80)
        var count = encoded.count
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            EVP_DigestSign(context, &encoded, &count, message, message.count) == 1
        else { throw CryptographyError(failure) }
        let numbers = encoded.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return d2i_ECDSA_SIG(nil, &start, count)
        }
        guard let numbers else { throw CryptographyError(failure) }
        defer { ECDSA_SIG_free(numbers) }
        return try [ECDSA_SIG_get0_r(numbers), ECDSA_SIG_get0_s(numbers)].flatMap { try Self.bytes($0, failure) }
    }

    private static func coordinate(_ name: String, of key: OpaquePointer) throws -> [UInt8] {
        let failure = "A private key is not one for ES256, on the curve P-256"
        var curve = [CChar](repeating: 0, count: 64)
        var number: OpaquePointer?
        guard EVP_PKEY_get_group_name(key, &curve, curve.count, nil) == 1, strcmp(curve, "prime256v1") == 0,
            EVP_PKEY_get_bn_param(key, name, &number) == 1
        else { throw CryptographyError(failure) }
        defer { BN_free(number) }
        return try bytes(number, failure)
    }

    private static func bytes(_ number: OpaquePointer?, _ failure: String) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: ECPublicKey.size)
        guard let number, BN_bn2binpad(number, &bytes, Int32(bytes.count)) == Int32(bytes.count) else {
            throw CryptographyError(failure)
        }
        return bytes
    }
}
