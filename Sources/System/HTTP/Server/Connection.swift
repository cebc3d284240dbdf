import Glibc
import Synchronization
import SystemIO

/// One client's connection, over which requests come one after the other.
final class Connection: Sendable {
    private struct State {
        /// nil once libmicrohttpd is about to close it.
        var descriptor: Int32?
        var current: Exchange?
        var hasHungUp = false
    }

    let id: UInt64
    let peer: HTTPPeer
    /// The other end, if it is a trusted proxy, whose requests name their clients.
    let proxy: TrustedProxies.Client?
    private let state: Mutex<State>

    init(id: UInt64, _ descriptor: Int32, _ proxies: TrustedProxies) {
        self.id = id
        let name = SocketName(of: descriptor, getpeername)
        peer = HTTPPeer(of: descriptor)
        proxy = proxies.networks.isEmpty ? nil : name?.client.flatMap { proxies.contains($0.address) ? $0 : nil }
        state = Mutex(State(descriptor: descriptor))
    }

    /// Returns the client of a request with these header fields.
    func peer(of headers: HTTPHeaders, _ proxies: TrustedProxies) -> HTTPPeer {
        guard let proxy else { return peer }
        let client = proxies.client(
            of: proxy, forwardedFor: headers.values("X-Forwarded-For"), forwarded: headers.values("Forwarded"))
        return client == proxy ? peer : HTTPPeer(client)
    }

    func begin(_ exchange: Exchange) { state.withLock { $0.current = exchange } }
    func end() { state.withLock { $0.current = nil } }
    func close() { state.withLock { $0 = State(descriptor: nil) } }

    var hasHungUp: Bool { state.withLock { $0.hasHungUp } }

    /// The client has closed its side.
    /// - Returns: false where that was known.
    func hangUp() -> Bool {
        let isNews = state.withLock { state in
            defer { state.hasHungUp = true }
            return !state.hasHungUp
        }
        guard isNews else { return false }
        state.withLock { $0.current }?.hangUp()
        return true
    }

    /// Tells libmicrohttpd that the client has closed its side. It takes a short read for the last news of a socket, and so
    /// would forget this, or wait for it in vain, if there were bytes to read before.
    /// - Returns: false while there are such bytes; to be called again when libmicrohttpd has run.
    func tellEnd() -> Bool {
        state.withLock { state in
            guard let descriptor = state.descriptor else { return true }
            var unread: Int32 = 0
            if ioctl(descriptor, UInt(FIONREAD), &unread) == 0, unread > 0 { return false }
            _ = Glibc.shutdown(descriptor, Int32(SHUT_RD))
            return true
        }
    }

    /// See shutdown(2); libmicrohttpd then looks at the connection, if it is not suspended.
    func shutdown(_ how: Int32) {
        state.withLock { state in
            if let descriptor = state.descriptor { _ = Glibc.shutdown(descriptor, how) }
        }
    }
}
