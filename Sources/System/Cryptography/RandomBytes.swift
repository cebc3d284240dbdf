import COpenSSL

/// Unpredictable bytes for tokens, keys and salts.
package enum RandomBytes {
    package static func make(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            // To go on without entropy would hand out tokens that can be guessed.
            precondition(
                RAND_bytes(buffer.baseAddress, Int32(clamping: count)) == 1, "the system gives no random bytes")
            initialized = count
        }
    }

    /// A token safe in URLs, headers and file names; 32 bytes give 43 characters.
    package static func token(byteCount: Int = 32) -> String {
        Base64.encode(make(byteCount), alphabet: .url)
    }
}
