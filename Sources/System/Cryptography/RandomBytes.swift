import COpenSSL

/// Unpredictable bytes for tokens, keys and salts.
package enum RandomBytes {
    package static func make(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            // Without entropy, tokens could be guessed, so the program must not continue.
            precondition(
                RAND_bytes(buffer.baseAddress, Int32(clamping: count)) == 1, "the system gives no random bytes")
            initialized = count
        }
    }

    /// Returns a token that is safe in URLs, headers and file names; 32 bytes give 43 characters.
    package static func token(byteCount: Int = 32) -> String {
        Base64.encode(make(byteCount), alphabet: .url)
    }
}
