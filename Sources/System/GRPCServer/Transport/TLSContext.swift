import COpenSSL
import GRPCProtocol

/// A server's certificate and key.
///
/// `@unchecked Sendable`: OpenSSL counts references to a context under a lock of its own.
final class TLSContext: @unchecked Sendable {
    private let context: OpaquePointer

    init(certificateChain: String, privateKey: String, address: String) throws(GRPCServerError) {
        let context = ferry_tls_http2_server(
            certificateChain, Int32(clamping: certificateChain.utf8.count), privateKey,
            Int32(clamping: privateKey.utf8.count))
        guard let context else {
            throw GRPCServerError(
                code: .badCertificate,
                message: "Cannot listen on \(address) with TLS: the certificate chain or the private key is not usable "
                    + "PEM, or they do not belong together.")
        }
        self.context = context
    }

    /// Returns a session for a new connection, which its `SocketStream` frees.
    func session() -> OpaquePointer? {
        let session = SSL_new(context)
        SSL_set_accept_state(session)
        return session
    }

    deinit { SSL_CTX_free(context) }
}
