import CMicroHTTPD
import HTTPMessages
import Synchronization
import SystemIO

/// What all connections of a server share.
final class ServerCore: Sendable {
    private struct State {
        /// The connections of this thread.
        var connections: [UInt64: Connection] = [:]
        /// The id of the connection that libmicrohttpd is about to open.
        var admitted: UInt64?
        /// Connections that have ended, of which libmicrohttpd is not told yet.
        var ending: [Connection] = []
        var exchanges: [ObjectIdentifier: Exchange] = [:]
        var isAborting = false
        var drained: [CheckedContinuation<Void, Never>] = []
    }

    let settings: ServerSettings
    private let registry: ConnectionRegistry
    /// Where handlers run; nil: on Swift's own pool.
    let executor: NetworkLoop?
    private let loop: NetworkLoop
    private let watch: DisconnectWatch
    private let state = Mutex(State())
    /// Lets libmicrohttpd run; nil before the server is open and after it is closed.
    private let advance = Mutex<(@Sendable () -> Void)?>(nil)
    private let isResuming = Atomic(false)
    /// Set while the server stops: answers then also end their connection.
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

    /// libmicrohttpd has run, and may have read what some clients sent before they closed their side.
    func hasRun() {
        state.withLock { state in
            if !state.ending.isEmpty { state.ending.removeAll { $0.tellEnd() } }
        }
    }

    func close() {
        advance.withLock { $0 = nil }
        watch.close()
    }

    /// A connection was resumed, on any thread: libmicrohttpd has to be told to look, since it does not run by itself.
    func hasResumed() {
        guard !isResuming.exchange(true, ordering: .acquiringAndReleasing) else { return }
        loop.later { [self] in
            isResuming.store(false, ordering: .releasing)
            advance.withLock { $0 }?()
        }
    }

    /// Whether there is a place for a connection from that address; `open` follows if so.
    func admit(_ name: SocketName?) -> Bool {
        let address = name?.client?.address
        let site = address.flatMap { settings.proxies.contains($0) ? nil : $0.site }
        let id = registry.admit(site)
        let before = state.withLock { state in
            defer { state.admitted = id }
            return state.admitted
        }
        // libmicrohttpd had no memory for the one before.
        if let before { registry.remove(before) }
        return id != nil
    }

    /// - Returns: nil for a connection that was not admitted.
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

    /// Looks for clients that are too slow.
    func check(at now: ContinuousClock.Instant) {
        var next: ContinuousClock.Instant?
        for connection in state.withLock({ Array($0.connections.values) }) {
            guard let time = connection.check(at: now) else { continue }
            next = min(next ?? time, time)
        }
        if let next { loop.check(at: next) }
    }

    /// A request is answered, or its body or its answer begins to be transferred: looks at it soon.
    func watch(_ connection: Connection?, after duration: Duration) {
        if let connection, !connection.isLocal { loop.check(at: .now + duration) }
    }

    /// A connection was ended on this side; on any thread.
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

    /// false where it comes too late to be answered.
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

    /// Waits until no request is under way; after the limit aborts those that are. No connection is suspended when
    /// this returns, or ever after.
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

    /// When it is so, it stays so: from then on requests come too late.
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
