import COpenSSL

/// An invalid key, or an operation that OpenSSL refused. Signatures and digests that do not match
/// are results, not errors.
package struct CryptographyError: Error, CustomStringConvertible {
    package let message: String

    package var description: String { message }

    /// Creates an error with OpenSSL's reason, which never contains key material, and clears
    /// OpenSSL's error queue.
    init(_ what: String) {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        let reason = ERR_reason_error_string(code).map { String(cString: $0) }
        message = reason.map { "\(what): \($0)." } ?? "\(what)."
    }
}
