import COpenSSL

/// HMAC with SHA-1 (RFC 2104), for protocols that support no newer algorithm.
package enum HMACSHA1 {
    /// Returns the 20-byte code of a message.
    package static func authenticate(_ message: String, key: String) -> [UInt8] {
        let (message, key) = (Array(message.utf8), Array(key.utf8))
        return [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { output, count in
            var length: UInt32 = 0
            let written = HMAC(
                EVP_sha1(), key, Int32(clamping: key.count), message, message.count, output.baseAddress, &length)
            precondition(written != nil, "HMAC failed")
            count = Int(length)
        }
    }
}
