import COpenSSL

/// HMAC with SHA-256 (RFC 2104).
package enum HMACSHA256 {
    package static func authenticate(_ message: [UInt8], key: [UInt8]) -> SHA256Digest {
        SHA256Digest { output in
            let written = key.withUnsafeBytes { key in
                message.withUnsafeBufferPointer { message in
                    HMAC(
                        EVP_sha256(), key.baseAddress, Int32(clamping: key.count), message.baseAddress, message.count,
                        output.baseAddress?.assumingMemoryBound(to: UInt8.self), nil)
                }
            }
            precondition(written != nil, "HMAC failed")
        }
    }

    package static func authenticate(_ message: String, key: [UInt8]) -> SHA256Digest {
        authenticate(Array(message.utf8), key: key)
    }

    /// Whether `code` authenticates `message`. The comparison takes constant time.
    package static func isValid(_ code: [UInt8], for message: [UInt8], key: [UInt8]) -> Bool {
        ConstantTime.areEqual(code, authenticate(message, key: key).bytes)
    }
}
