import COpenSSL

/// A key that is not one, or OpenSSL refusing its work. Signatures and digests that do not match are answers, not errors.
package struct CryptographyError: Error, CustomStringConvertible {
    package let message: String

    package var description: String { message }

    /// Adds OpenSSL's reason, which never holds key material, and empties its queue.
    init(_ what: String) {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        let reason = ERR_reason_error_string(code).map { String(cString: $0) }
        message = reason.map { "\(what): \($0)." } ?? "\(what)."
    }
}
