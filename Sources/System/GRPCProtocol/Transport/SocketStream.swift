import COpenSSL
import Glibc

/// The reading and writing of a connection's socket, in plain text or with TLS.
package final class SocketStream {
    package enum Outcome {
        case bytes(Int)
        /// Nothing can be transferred until the socket is ready again.
        case later
        /// The peer is gone, or violates the protocol.
        case ended
    }

    private let descriptor: Int32
    package let session: OpaquePointer?

    /// Creates the stream of a socket, in plain text or with a TLS session that has not started.
    ///
    /// The stream takes over the session and frees it, but not the descriptor.
    package init(_ descriptor: Int32, session: OpaquePointer?) {
        self.descriptor = descriptor
        self.session = session
        if let session { ferry_tls_use_socket(session, Self.sockets, descriptor) }
    }

    /// The socket functions that OpenSSL uses.
    private nonisolated(unsafe) static let sockets = ferry_tls_sockets()

    /// Continues the TLS handshake. The outcome is 0 bytes once the handshake is complete.
    package func shakeHands() -> Outcome {
        guard let session else { return .bytes(0) }
        ERR_clear_error()
        let code = SSL_do_handshake(session)
        return code == 1 ? .bytes(0) : outcome(session, code)
    }

    deinit { SSL_free(session) }

    package func read(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        guard let session else { return Self.outcome(recv(descriptor, buffer.baseAddress, buffer.count, 0)) }
        ERR_clear_error()
        let count = SSL_read(session, buffer.baseAddress, Int32(clamping: buffer.count))
        return outcome(session, count)
    }

    package func write(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        guard let session else {
            return Self.send(bytes, to: descriptor)
        }
        ERR_clear_error()
        let count = SSL_write(session, bytes.baseAddress, Int32(clamping: bytes.count))
        return outcome(session, count)
    }

    /// Writes to a socket without TLS.
    package static func send(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Outcome {
        outcome(Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)))
    }

    /// Whether TLS continues when the socket becomes writable.
    package var wantsToWrite: Bool { session.map { SSL_want($0) == SSL_WRITING } ?? false }

    private static func outcome(_ count: Int) -> Outcome {
        if count > 0 { return .bytes(count) }
        return count < 0 && (errno == EAGAIN || errno == EINTR) ? .later : .ended
    }

    private func outcome(_ session: OpaquePointer, _ count: Int32) -> Outcome {
        if count > 0 { return .bytes(Int(count)) }
        switch SSL_get_error(session, count) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .later
        default: return .ended
        }
    }
}
