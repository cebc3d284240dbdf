import CMicroHTTPD
import Synchronization

/// What all connections of a server share.
final class ServerCore: Sendable {
    private struct State {
        var lastConnection: UInt64 = 0
        var connections: [UInt64: Connection] = [:]
        var exchanges: [ObjectIdentifier: Exchange] = [:]
        var isAborting = false
        var drained: [CheckedContinuation<Void, Never>] = []
    }

    let limits: HTTPServer.Limits
    let isSecure: Bool
    let onError: @Sendable (any Error) -> Void
    let handler: HTTPServer.Handler
    let watch: DisconnectWatch
    private let state = Mutex(State())
    /// Set while the server stops: answers then also end their connection.
    let isDraining = Atomic(false)

    init(
        limits: HTTPServer.Limits, isSecure: Bool, onError: @escaping @Sendable (any Error) -> Void,
        handler: @escaping HTTPServer.Handler
    ) {
        self.limits = limits
        self.isSecure = isSecure
        self.onError = onError
        self.handler = handler
        watch = DisconnectWatch()
    }

    static func from(_ context: UnsafeMutableRawPointer?) -> ServerCore? {
        context.map { Unmanaged<ServerCore>.fromOpaque($0).takeUnretainedValue() }
    }

    func start() throws {
        try watch.start { [weak self] id in
            self?.state.withLock { $0.connections[id] }?.hangUp()
        }
    }

    func open(_ descriptor: Int32) -> Unmanaged<Connection> {
        let connection = state.withLock { state in
            state.lastConnection += 1
            let connection = Connection(id: state.lastConnection, descriptor)
            state.connections[connection.id] = connection
            return connection
        }
        watch.add(descriptor, id: connection.id)
        return .passRetained(connection)
    }

    func close(_ connection: Unmanaged<Connection>) {
        let connection = connection.takeRetainedValue()
        connection.close()
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
