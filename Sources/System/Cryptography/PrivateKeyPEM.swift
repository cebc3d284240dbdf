import COpenSSL

/// Reads private keys of any kind.
enum PrivateKeyPEM {
    /// Returns the key of an unencrypted PEM text, which the caller frees.
    static func read(_ pem: [UInt8]) throws -> OpaquePointer {
        // The source refers to the bytes without copying them.
        try pem.withUnsafeBytes { bytes in
            guard let source = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else {
                throw CryptographyError("A private key could not be read")
            }
            defer { BIO_free(source) }
            // The callback keeps OpenSSL from prompting for a passphrase on the terminal.
            guard let key = PEM_read_bio_PrivateKey(source, nil, { _, _, _, _ in 0 }, nil) else {
                throw CryptographyError("A private key is not unencrypted PEM")
            }
            return key
        }
    }
}
