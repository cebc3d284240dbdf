import COpenSSL
import Glibc

/// How a connection reads and writes its socket.
final class SocketStream {
    enum Outcome {
        case bytes(Int)
        /// Nothing goes until the socket is ready again.
        case later
        /// The peer is gone, or is not understood.
        case ended
    }

    private let descriptor: Int32
    private let session: OpaquePointer?

    /// Does not own the descriptor.
    init(_ descriptor: Int32, _ context: TLSContext?) {
        self.descriptor = descriptor
        session = context.flatMap { SSL_new($0.context) }
        guard let session else { return }
        SSL_set_fd(session, descriptor)
        SSL_set_accept_state(session)
    }

    deinit { SSL_free(session) }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        guard let session else { return Self.outcome(recv(descriptor, buffer.baseAddress, buffer.count, 0)) }
        ERR_clear_error()
        let count = SSL_read(session, buffer.baseAddress, Int32(clamping: buffer.count))
        return outcome(session, count)
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        guard let session else {
            return Self.outcome(Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)))
        }
        ERR_clear_error()
        let count = SSL_write(session, bytes.baseAddress, Int32(clamping: bytes.count))
        return outcome(session, count)
    }

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
