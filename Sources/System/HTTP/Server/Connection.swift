import Glibc
import Synchronization

/// One client's connection, over which requests come one after the other.
final class Connection: Sendable {
    private struct State {
        /// nil once libmicrohttpd is about to close it.
        var descriptor: Int32?
        var current: Exchange?
    }

    let id: UInt64
    let peer: HTTPPeer
    private let state: Mutex<State>

    init(id: UInt64, _ descriptor: Int32) {
        self.id = id
        peer = HTTPPeer(of: descriptor)
        state = Mutex(State(descriptor: descriptor))
    }

    func begin(_ exchange: Exchange) { state.withLock { $0.current = exchange } }
    func end() { state.withLock { $0.current = nil } }
    func close() { state.withLock { $0 = State(descriptor: nil) } }

    /// The client has closed its side.
    func hangUp() {
        // libmicrohttpd takes a short read for the last news of a socket. If the end had come together with the last
        // bytes it would wait for it in vain; this tells it again, and bytes not yet read stay readable.
        shutdown(Int32(SHUT_RD))
        state.withLock { $0.current }?.hangUp()
    }

    /// See shutdown(2); libmicrohttpd then looks at the connection, if it is not suspended.
    func shutdown(_ how: Int32) {
        state.withLock { state in
            if let descriptor = state.descriptor { _ = Glibc.shutdown(descriptor, how) }
        }
    }
}
