import COpenSSL
import GRPCProtocol
import SystemIO

/// The TLS settings of a channel: the certificates that it trusts, and the name that the server
/// must prove.
///
/// `@unchecked Sendable`: OpenSSL counts references to a context under a lock of its own.
final class ClientTLS: @unchecked Sendable {
    private let context: OpaquePointer
    private let name: String

    /// Creates the settings.
    ///
    /// - Parameters:
    ///   - roots: PEM certificates to trust; nil for the system's.
    ///   - name: The name or address that the certificate must be for.
    /// - Throws: `unavailable` if the roots cannot be used.
    init(roots: String?, name: String) throws(GRPCStatus) {
        let context =
            if let roots {
                ferry_tls_http2_client(roots, Int32(clamping: roots.utf8.count))
            } else {
                ferry_tls_http2_client(nil, 0)
            }
        guard let context else {
            throw GRPCStatus(.unavailable, "The certificates to trust cannot be used: they are not PEM, or damaged.")
        }
        self.context = context
        self.name = name
    }

    deinit { SSL_CTX_free(context) }

    /// Returns a session for a new connection, which its `SocketStream` frees; nil for a name that
    /// no certificate can be for.
    func session() -> OpaquePointer? { ferry_tls_client_session(context, name, IPAddress(name) == nil ? 0 : 1) }
}

extension SocketStream {
    /// The reason why the handshake failed, from the verification of the certificate or from
    /// OpenSSL.
    var handshakeProblem: String {
        let result = session.map { SSL_get_verify_result($0) } ?? Int(X509_V_OK)
        if result != Int(X509_V_OK), let text = X509_verify_cert_error_string(result) {
            return "its certificate is not trusted: \(String(cString: text))"
        }
        if let text = ERR_reason_error_string(ERR_peek_last_error()) {
            return "TLS failed: \(String(cString: text))"
        }
        return "TLS failed: the connection was closed"
    }

    /// Whether the server has agreed to HTTP/2. Valid after the handshake.
    var isHTTP2: Bool { session.map { ferry_tls_is_http2($0) == 1 } ?? true }
}
