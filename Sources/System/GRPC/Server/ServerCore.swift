import CGRPC
import Synchronization

/// A server of the core, listening.
///
/// Sendable because the pointer is constant and the mutable state is behind the lock.
final class ServerCore: CompletionTarget, @unchecked Sendable {
    private struct State {
        var handlers = 0
        var isShuttingDown = false
        var isShutDown = false
        var waiters: [UnsafeContinuation<Void, Never>] = []

        var hasEnded: Bool { isShutDown && handlers == 0 }
    }

    let queue: CompletionQueue
    /// For the calls of long-lived methods; nil where there are none.
    private let streams: (queue: CompletionQueue, methods: [CallAcceptor.Method])?
    let server: OpaquePointer
    /// The port that was bound.
    let port: Int
    let resolve: @Sendable (String) -> GRPCMethod?
    private let state = Mutex(State())

    /// Enough for the calls that arrive between two looks of the polling thread.
    private static let acceptors = 16

    /// Binds the port; calls are taken after `run`.
    init(
        _ configuration: GRPCServerConfiguration, longLived: Set<String>,
        resolve: @escaping @Sendable (String) -> GRPCMethod?
    ) throws(GRPCServerError) {
        self.resolve = resolve
        queue = CompletionQueue(threads: configuration.pollingThreads)
        let created = Self.arguments(configuration).withCoreArguments { grpc_server_create($0, nil) }
        guard let created else { throw GRPCServerError(code: .other, message: "The transport made no server.") }
        server = created
        grpc_server_register_completion_queue(server, queue.queue, nil)
        let methods = longLived.sorted().compactMap { path in
            grpc_server_register_method(created, path, nil, GRPC_SRM_PAYLOAD_NONE, 0)
                .map { CallAcceptor.Method(path: path, handle: $0) }
        }
        streams = methods.isEmpty ? nil : (CompletionQueue(threads: 1, readsNetwork: false), methods)
        do {
            port = try Self.bind(server, configuration)
        } catch {
            grpc_server_destroy(server)
            throw error
        }
    }

    deinit { grpc_server_destroy(server) }

    func run() {
        grpc_server_start(server)
        for _ in 0..<Self.acceptors { CallAcceptor(self, queue).accept() }
        guard let streams else { return }
        for method in streams.methods {
            for _ in 0..<Self.acceptors { CallAcceptor(self, streams.queue, method).accept() }
        }
    }

    // MARK: Handlers

    func handlerStarted() {
        state.withLock { $0.handlers += 1 }
    }

    func handlerEnded() {
        resumeIfEnded { $0.handlers -= 1 }
    }

    // MARK: Shutting down

    /// Takes no more calls and lets those under way end.
    func shutDown() {
        let isFirst = state.withLock { state in
            defer { state.isShuttingDown = true }
            return !state.isShuttingDown
        }
        if isFirst { grpc_server_shutdown_and_notify(server, queue.queue, tag(.shutdown)) }
    }

    /// Only after `shutDown`.
    func cancelAllCalls() {
        grpc_server_cancel_all_calls(server)
    }

    /// Returns when the port is free, all calls have ended and all handlers have returned.
    nonisolated(nonsending) func waitUntilShutDown() async {
        await withUnsafeContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.waiters.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    override func completed(_ operation: Operation, success: Bool) {
        resumeIfEnded { $0.isShutDown = true }
    }

    private func resumeIfEnded(after change: (inout State) -> Void) {
        let waiters = state.withLock { state -> [UnsafeContinuation<Void, Never>] in
            change(&state)
            guard state.hasEnded else { return [] }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}
