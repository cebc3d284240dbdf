import CMicroHTTPD
import HTTPMessages
import Synchronization
import SystemIO

/// The connections and requests of one thread of a server.
final class ServerCore: Sendable {
    private struct State {
        /// The connections of this thread.
        var connections: [UInt64: Connection] = [:]
        /// The id of the connection that libmicrohttpd is about to open.
        var admitted: UInt64?
        /// Connections that have ended but whose end libmicrohttpd has not seen.
        var ending: [Connection] = []
        var exchanges: [ObjectIdentifier: Exchange] = [:]
        var isAborting = false
        var drained: [CheckedContinuation<Void, Never>] = []
    }

    let settings: ServerSettings
    private let registry: ConnectionRegistry
    /// The executor of handlers, or nil to run them on Swift's default pool.
    let executor: NetworkLoop?
    private let loop: NetworkLoop
    private let watch: DisconnectWatch
    private let state = Mutex(State())
    /// Lets libmicrohttpd run; nil before the server is open and after it is closed.
    private let advance = Mutex<(@Sendable () -> Void)?>(nil)
    private let isResuming = Atomic(false)
    /// Whether the server is stopping, in which case each answer also ends its connection.
    let isDraining = Atomic(false)

    init(
        _ settings: ServerSettings, _ registry: ConnectionRegistry, on loop: NetworkLoop, runsHandlers: Bool
    ) throws {
        self.settings = settings
        self.registry = registry
        self.loop = loop
        executor = runsHandlers ? loop : nil
        watch = try DisconnectWatch(on: loop)
    }

    static func from(_ context: UnsafeMutableRawPointer?) -> ServerCore? {
        context.map { Unmanaged<ServerCore>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Begins to look out for clients that hang up. On the loop's thread, or before it runs, as are
    /// `close` and those for connections.
    func open(advancing advance: @escaping @Sendable () -> Void) -> Bool {
        self.advance.withLock { $0 = advance }
        return watch.open { [weak self] id in
            self?.hangUp(id)
        }
    }

    private func hangUp(_ id: UInt64) {
        guard let connection = state.withLock({ $0.connections[id] }), connection.hangUp() else { return }
        if !connection.tellEnd() { state.withLock { $0.ending.append(connection) } }
    }

    /// Shuts down the connections whose end libmicrohttpd could not notice before. Call after
    /// libmicrohttpd has run and may have read the bytes that preceded the end.
    func hasRun() {
        state.withLock { state in
            if !state.ending.isEmpty { state.ending.removeAll { $0.tellEnd() } }
        }
    }

    func close() {
        advance.withLock { $0 = nil }
        watch.close()
    }

    /// Schedules a run of libmicrohttpd after a connection was resumed, because it does not run on
    /// its own. Safe on any thread.
    func hasResumed() {
        guard !isResuming.exchange(true, ordering: .acquiringAndReleasing) else { return }
        loop.later { [self] in
            isResuming.store(false, ordering: .releasing)
            advance.withLock { $0 }?()
        }
    }

    /// Whether a connection from that address is admitted; if so, `open` follows.
    func admit(_ name: SocketName?) -> Bool {
        let address = name?.client?.address
        let site = address.flatMap { settings.proxies.contains($0) ? nil : $0.site }
        let id = registry.admit(site)
        let before = state.withLock { state in
            defer { state.admitted = id }
            return state.admitted
        }
        // The previous connection was admitted but never opened: libmicrohttpd had no memory for
        // it.
        if let before { registry.remove(before) }
        return id != nil
    }

    /// Registers the connection that was admitted.
    ///
    /// - Returns: Nil for a connection that was not admitted.
    func open(_ descriptor: Int32) -> Connection? {
        let id = state.withLock { state in
            defer { state.admitted = nil }
            return state.admitted
        }
        guard let id else { return nil }
        let connection = Connection(id: id, descriptor, self)
        state.withLock { $0.connections[id] = connection }
        registry.add(connection)
        watch.add(descriptor, id: id)
        loop.check(at: .now + settings.limits.header)
        return connection
    }

    /// Ends the connections of clients that are too slow, and schedules the next check.
    func check(at now: ContinuousClock.Instant) {
        var next: ContinuousClock.Instant?
        for connection in state.withLock({ Array($0.connections.values) }) {
            guard let time = connection.check(at: now) else { continue }
            next = min(next ?? time, time)
        }
        if let next { loop.check(at: next) }
    }

    /// Schedules a check of a connection when a request was answered, or its body or answer starts
    /// to be transferred.
    func watch(_ connection: Connection?, after duration: Duration) {
        if let connection, !connection.isLocal { loop.check(at: .now + duration) }
    }

    /// Releases the place of a connection that this side has ended. Safe on any thread.
    func end(_ connection: Connection) {
        registry.remove(connection.id)
        loop.later { [self] in
            if !connection.tellEnd() { state.withLock { $0.ending.append(connection) } }
        }
    }

    func close(_ connection: Unmanaged<Connection>) {
        let connection = connection.takeRetainedValue()
        connection.close()
        registry.remove(connection.id)
        state.withLock { $0.connections[connection.id] = nil }
    }

    /// Registers a request.
    ///
    /// - Returns: False if the server is stopping and the request can no longer be answered.
    func begin(_ exchange: Exchange) -> Bool {
        state.withLock { state in
            if state.isAborting { return false }
            state.exchanges[ObjectIdentifier(exchange)] = exchange
            return true
        }
    }

    func end(_ exchange: Exchange) {
        let waiting = state.withLock { state in
            state.exchanges[ObjectIdentifier(exchange)] = nil
            guard state.exchanges.isEmpty else { return [] as [CheckedContinuation<Void, Never>] }
            defer { state.drained = [] }
            return state.drained
        }
        waiting.forEach { $0.resume() }
    }

    /// Waits until no request is in progress, and aborts the remaining ones at the limit.
    ///
    /// When this method returns, no connection is suspended, and none will be again.
    func drain(within limit: Duration) async {
        isDraining.store(true, ordering: .relaxed)
        let deadline = Task {
            guard (try? await Task.sleep(for: limit)) != nil else { return }
            self.abort()
        }
        while !isDrained() { await nextIdleMoment() }
        deadline.cancel()
        await deadline.value
    }

    private func abort() {
        let exchanges = state.withLock { state in
            state.isAborting = true
            return Array(state.exchanges.values)
        }
        exchanges.forEach { $0.abort() }
    }

    /// Whether no request is in progress. Once that is true, all further requests are refused.
    private func isDrained() -> Bool {
        state.withLock { state in
            guard state.exchanges.isEmpty else { return false }
            state.isAborting = true
            return true
        }
    }

    private func nextIdleMoment() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if state.exchanges.isEmpty { return true }
                state.drained.append(continuation)
                return false
            }
            if isIdle { continuation.resume() }
        }
    }
}
