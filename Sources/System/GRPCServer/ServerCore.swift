import Glibc
import Synchronization
import SystemIO

/// A server's sockets, the threads that serve them, and the state of its shutdown.
final class ServerCore: Sendable {
    private struct State {
        var listeners: [Listener] = []
        var connections = 0
        var accepted = 0
        var limiter: ConnectionLimiter<Int>
        var open: [Int: ServerConnection] = [:]
        var handlers = 0
        var isShuttingDown = false
        var waiters: [UnsafeContinuation<Void, Never>] = []

        var hasEnded: Bool { isShuttingDown && listeners.isEmpty && connections == 0 && handlers == 0 }
    }

    let settings: ServerSettings
    /// The port that was bound.
    let port: Int
    let resolve: @Sendable (String) -> GRPCMethod?
    private let descriptors: [Int32]
    private let loops: [NetworkLoop]
    private let state: Mutex<State>

    /// Binds the port. Calls are accepted after `run`.
    init(
        _ configuration: GRPCServerConfiguration, resolve: @escaping @Sendable (String) -> GRPCMethod?
    ) throws(GRPCServerError) {
        let limits = configuration.limits
        state = Mutex(
            State(
                limiter: .init(.init(total: max(1, limits.connections), perSite: limits.connectionsPerAddress))))
        self.resolve = resolve
        let address = "\(configuration.host):\(configuration.port)"
        switch configuration.security {
        case .plaintext: settings = ServerSettings(configuration, tls: nil)
        case .tls(let chain, let key):
            let tls = try TLSContext(certificateChain: chain, privateKey: key, address: address)
            settings = ServerSettings(configuration, tls: tls)
        }
        do throws(SystemError) {
            var loops: [NetworkLoop] = []
            for _ in 0..<max(1, configuration.threads) { loops.append(try NetworkLoop()) }
            self.loops = loops
        } catch {
            throw GRPCServerError(binding: address, number: error.errno)
        }
        (descriptors, port) = try Listener.bind(host: configuration.host, port: configuration.port)
    }

    func run() throws(GRPCServerError) {
        do throws(SystemError) {
            for loop in loops { try loop.start(named: "grpc-loop") }
        } catch {
            for loop in loops { loop.stop() }
            for descriptor in descriptors { _ = Glibc.close(descriptor) }
            throw GRPCServerError(binding: "\(settings.configuration.host):\(port)", number: error.errno)
        }
        loops[0].perform { [self] in listen() }
    }

    private func listen() {
        let loop = loops[0]
        for descriptor in descriptors {
            let listener = Listener(descriptor, on: loop) { [self] in accept($0, peer: $1) }
            state.withLock { $0.listeners.append(listener) }
            _ = loop.watch(listener)
        }
    }

    private func accept(_ descriptor: Int32, peer: GRPCPeer) {
        let isProxy = peer.client.map { settings.configuration.trustedProxies.contains($0.address) } ?? false
        let site = isProxy ? nil : peer.client?.address.site
        let (connection, victim) = state.withLock { state -> (ServerConnection?, ServerConnection?) in
            state.accepted += 1
            let id = state.accepted
            let admission: ConnectionLimiter<Int>.Admission
            do {
                let open = state.open
                admission = state.limiter.open(id, site) { open[$0]?.use ?? (.busy, .now) }
            }
            if admission == .refused { return (nil, nil) }
            let loop = loops[id % loops.count]
            let connection = ServerConnection(descriptor, id: id, peer: peer, server: self, loop: loop)
            state.connections += 1
            state.open[id] = connection
            guard case .replacing(let other) = admission else { return (connection, nil) }
            return (connection, state.open.removeValue(forKey: other))
        }
        if let victim { victim.loop.perform { victim.giveUp() } }
        guard let connection else {
            _ = Glibc.close(descriptor)
            return
        }
        connection.loop.perform { [self] in
            connection.open()
            if state.withLock({ $0.isShuttingDown }) { connection.shutDown() }
        }
    }

    func connectionClosed(_ id: Int) {
        resumeIfEnded { state in
            state.connections -= 1
            state.limiter.close(id)
            state.open[id] = nil
        }
    }

    // MARK: Handlers

    func handlerStarted() { state.withLock { $0.handlers += 1 } }

    func handlerEnded() { resumeIfEnded { $0.handlers -= 1 } }

    // MARK: Shutting down

    /// Stops accepting calls and lets those in progress end.
    func shutDown() {
        loops[0].perform { [self] in
            // This runs after `listen`, and after every connection that was accepted.
            let listeners = state.withLock { state in
                state.isShuttingDown = true
                return state.listeners
            }
            for listener in listeners { listener.close() }
            for loop in loops { loop.perform { loop.forEachSource { ($0 as? ServerConnection)?.shutDown() } } }
            resumeIfEnded { $0.listeners = [] }
        }
    }

    /// Cancels all calls. Call only after `shutDown`.
    func cancelAllCalls() {
        for loop in loops { loop.perform { loop.forEachSource { ($0 as? ServerConnection)?.cancelAllCalls() } } }
    }

    /// Waits until the port is free, all calls have ended, and all handlers have returned.
    nonisolated(nonsending) func waitUntilShutDown() async {
        await withUnsafeContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.waiters.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    private func resumeIfEnded(after change: (inout State) -> Void) {
        let (hasEnded, waiters) = state.withLock { state -> (Bool, [UnsafeContinuation<Void, Never>]) in
            change(&state)
            guard state.hasEnded else { return (false, []) }
            defer { state.waiters = [] }
            return (true, state.waiters)
        }
        if hasEnded { for loop in loops { loop.stop() } }
        for waiter in waiters { waiter.resume() }
    }
}
