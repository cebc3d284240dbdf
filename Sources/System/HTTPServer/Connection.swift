import CLinux
import Glibc
import HTTPMessages
import Synchronization
import SystemIO

/// A client's connection, which carries one request at a time.
final class Connection: Sendable {
    typealias Limiter = ConnectionLimiter<UInt64>

    private struct State {
        /// The socket, or nil once libmicrohttpd is about to close it.
        var descriptor: Int32?
        var current: Exchange?
        var hasHungUp = false
        /// The time since which the connection has had no request, or the header of its request has
        /// been incomplete.
        var since: ContinuousClock.Instant
        /// Whether an earlier request of this connection was answered.
        var isProven = false
    }

    let id: UInt64
    let peer: HTTPPeer
    /// The peer, if it is a trusted proxy, whose requests name their clients in header fields.
    let proxy: TrustedProxies.Client?
    /// Whether the peer connected through this machine's Unix socket, which only permitted users
    /// can open.
    let isLocal: Bool
    private let core: ServerCore
    private let state: Mutex<State>

    init(id: UInt64, _ descriptor: Int32, _ core: ServerCore) {
        self.id = id
        self.core = core
        let proxies = core.settings.proxies
        let name = SocketName(of: descriptor, getpeername)
        peer = HTTPPeer(of: descriptor, name)
        isLocal = name?.isLocal == true
        proxy = proxies.networks.isEmpty ? nil : name?.client.flatMap { proxies.contains($0.address) ? $0 : nil }
        state = Mutex(State(descriptor: descriptor, since: .now))
    }

    /// Returns the client of a request with these header fields.
    func peer(of headers: HTTPHeaders) -> HTTPPeer {
        guard let proxy else { return peer }
        let client = core.settings.proxies.client(
            of: proxy, forwardedFor: headers.values("X-Forwarded-For"), forwarded: headers.values("Forwarded"))
        return client == proxy ? peer : HTTPPeer(client)
    }

    /// Notes that the request line of the next request has arrived.
    ///
    /// The time limit for the header of a connection's first request also covers the time before
    /// its request line.
    func begin(_ exchange: Exchange) {
        state.withLock { state in
            state.current = exchange
            if state.isProven { state.since = .now }
        }
    }

    func end() {
        state.withLock { state in
            state.current = nil
            state.isProven = true
            state.since = .now
        }
    }

    func close() {
        state.withLock { state in
            state.descriptor = nil
            state.current = nil
        }
    }

    // MARK: Limits

    /// The connection's use, and the time since which it has had that use. Safe on any thread.
    var use: (Limiter.Use, ContinuousClock.Instant) {
        let (exchange, isProven, since) = state.withLock { ($0.current, $0.isProven, $0.since) }
        guard let exchange else { return (isProven ? .idle : .unproven, since) }
        return (exchange.use, since)
    }

    /// Ends the connection if the client is too slow. Runs on the loop's thread.
    ///
    /// - Returns: When to check again, or nil if that depends on a later event.
    func check(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        let (exchange, isProven, since, descriptor) = state.withLock {
            ($0.current, $0.isProven, $0.since, $0.descriptor)
        }
        guard let descriptor else { return nil }
        if let exchange, exchange.use != .unproven {
            // Clients of this machine's own Unix socket have no minimum rate.
            if isLocal { return nil }
            guard exchange.keepsUp(descriptor, at: now) else {
                end(becauseOf: exchange)
                return nil
            }
            return now + core.settings.paceInterval
        }
        let isWaiting = exchange == nil && isProven
        let limit = since + (isWaiting ? core.settings.limits.idle : core.settings.limits.header)
        guard limit <= now else { return limit }
        end(becauseOf: exchange)
        return nil
    }

    /// Ends the connection. Safe on any thread. If no part of an answer has been sent, the client
    /// gets a 408 first.
    private func end(becauseOf exchange: Exchange?) {
        let mayAnswer = exchange?.mayBeAnsweredFromOutside ?? state.withLock { !$0.isProven }
        if mayAnswer, !core.settings.isSecure {
            state.withLock { state in
                guard let descriptor = state.descriptor else { return }
                let answer = Self.timeout
                _ = Glibc.send(descriptor, answer, answer.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
        }
        shutdown(Int32(SHUT_RDWR))
        core.end(self)
    }

    private static let timeout = Array(
        "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".utf8)

    /// Ends the connection to make room for another one. Safe on any thread.
    func giveUp() { end(becauseOf: state.withLock { $0.current }) }

    // MARK: The other end

    var hasHungUp: Bool { state.withLock { $0.hasHungUp } }

    /// Notes that the client has closed its side.
    ///
    /// - Returns: Whether this was the first notice.
    func hangUp() -> Bool {
        let isNews = state.withLock { state in
            defer { state.hasHungUp = true }
            return !state.hasHungUp
        }
        guard isNews else { return false }
        state.withLock { $0.current }?.hangUp()
        return true
    }

    /// Shuts down the reading side, so that libmicrohttpd notices that the client has closed its
    /// side.
    ///
    /// libmicrohttpd takes a short read to mean that the socket has no further events. If bytes
    /// were still unread, it would then miss the end or wait for it in vain.
    ///
    /// - Returns: False while bytes are unread; call again after libmicrohttpd has run.
    func tellEnd() -> Bool {
        state.withLock { state in
            guard let descriptor = state.descriptor else { return true }
            var unread: Int32 = 0
            if ioctl(descriptor, UInt(FIONREAD), &unread) == 0, unread > 0 { return false }
            _ = Glibc.shutdown(descriptor, Int32(SHUT_RD))
            return true
        }
    }

    /// Calls shutdown(2). libmicrohttpd then examines the connection, unless it is suspended.
    func shutdown(_ how: Int32) {
        state.withLock { state in
            if let descriptor = state.descriptor { _ = Glibc.shutdown(descriptor, how) }
        }
    }
}
