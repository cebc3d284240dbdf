import CLinux
import Glibc
import HTTPMessages
import Synchronization
import SystemIO

/// One client's connection, over which requests come one after the other.
final class Connection: Sendable {
    typealias Limiter = ConnectionLimiter<UInt64>

    private struct State {
        /// nil once libmicrohttpd is about to close it.
        var descriptor: Int32?
        var current: Exchange?
        var hasHungUp = false
        /// Since when it has no request, or its request's header is incomplete.
        var since: ContinuousClock.Instant
        /// Whether a request was answered before.
        var isProven = false
    }

    let id: UInt64
    let peer: HTTPPeer
    /// The other end, if it is a trusted proxy, whose requests name their clients.
    let proxy: TrustedProxies.Client?
    /// Whether the other end is on this machine's Unix socket, which only permitted users can open.
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

    /// The request line of the next request is there. The limit for the header of a connection's
    /// first request includes the time before.
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

    /// What the connection is used for, and since when; on any thread.
    var use: (Limiter.Use, ContinuousClock.Instant) {
        let (exchange, isProven, since) = state.withLock { ($0.current, $0.isProven, $0.since) }
        guard let exchange else { return (isProven ? .idle : .unproven, since) }
        return (exchange.use, since)
    }

    /// Looks whether the client is too slow, and ends the connection if it is. On the loop's thread.
    /// - Returns: when to look again; nil if that depends on something that is yet to happen.
    func check(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        let (exchange, isProven, since, descriptor) = state.withLock {
            ($0.current, $0.isProven, $0.since, $0.descriptor)
        }
        guard let descriptor else { return nil }
        if let exchange, exchange.use != .unproven {
            // A peer on this machine's own socket is left to stop and go as it likes.
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

    /// Ends the connection, on any thread. A client that has not got the beginning of an answer is told why.
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

    /// Gives the connection up for another one, on any thread.
    func giveUp() { end(becauseOf: state.withLock { $0.current }) }

    // MARK: The other end

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

    /// Tells libmicrohttpd that the client has closed its side. It takes a short read for the last
    /// news of a socket, and so would forget this, or wait for it in vain, if there were bytes to
    /// read before.
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
