import COpenSSL
import Glibc

/// How a connection reads and writes its socket.
package final class SocketStream {
    package enum Outcome {
        case bytes(Int)
        /// Nothing goes until the socket is ready again.
        case later
        /// The peer is gone, or is not understood.
        case ended
    }

    private let descriptor: Int32
    package let session: OpaquePointer?

    /// Creates the stream of a socket, in the clear or with a session of TLS that has not begun.
    ///
    /// The session is taken over and freed with the stream; the descriptor is not.
    package init(_ descriptor: Int32, session: OpaquePointer?) {
        self.descriptor = descriptor
        self.session = session
        if let session { ferry_tls_use_socket(session, Self.sockets, descriptor) }
    }

    /// Sockets as OpenSSL is to use them.
    private nonisolated(unsafe) static let sockets = ferry_tls_sockets()

    /// Goes on with the handshake of TLS; its outcome is 0 bytes once it is complete.
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

    /// Writes to a socket in the clear.
    package static func send(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Outcome {
        outcome(Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)))
    }

    /// Whether TLS goes on when the socket can be written to.
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
