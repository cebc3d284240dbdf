import CGRPC
import Synchronization

/// The server's end of a call, and the task that handles it.
///
/// Sendable for the reasons of `CallCore`; what is added is constant or behind the lock.
final class ServerCallCore: CallCore, @unchecked Sendable {
    private enum End {
        case finished
        case cancelled
    }

    private struct State {
        var task: Task<Void, Never>?
        var end: End?
        var onCancel: [@Sendable () -> Void] = []
    }

    let path: String
    let metadata: GRPCMetadata
    let deadline: ContinuousClock.Instant?
    private let server: ServerCore
    private let state = Mutex(State())

    /// Takes over the reference to the call.
    init(
        _ call: OpaquePointer, server: ServerCore, queue: CompletionQueue, path: String, metadata: GRPCMetadata,
        deadline: ContinuousClock.Instant?
    ) {
        self.server = server
        self.path = path
        self.metadata = metadata
        self.deadline = deadline
        super.init(call, queue: queue)
        var receiveClose = cgrpc_batch()
        cgrpc_receive_close(&receiveClose, results)
        _ = start(&receiveClose, on: call, as: .status)
    }

    var peer: String {
        guard let peer = grpc_call_get_peer(call) else { return "" }
        defer { gpr_free(peer) }
        return String(cString: peer)
    }

    var isCancelled: Bool { state.withLock { $0.end == .cancelled } }

    override func completed(_ operation: Operation, success: Bool) {
        guard operation == .status else { return super.completed(operation, success: success) }
        ended(results.pointee.cancelled != 0 ? .cancelled : .finished)
    }

    // MARK: Handling

    /// Finds the method and starts its task. The task belongs to this call: it is cancelled with it, and the server's
    /// shutdown waits for its end.
    func run() {
        guard let method = server.resolve(path) else {
            finish(GRPCStatus(.unimplemented, "The method \(path.prefix(200)) is not known here."))
            return server.handlerEnded()
        }
        let call = GRPCServerCall(self)
        state.withLock { state in
            state.task = Task { [self] in
                switch method {
                case .unary(let handler): await runUnary(handler, call)
                case .streaming(let handler): await runStreaming(handler, call)
                }
                self.state.withLock { $0.task = nil }
                server.handlerEnded()
            }
        }
    }

    private func runUnary(
        _ handler: @Sendable ([UInt8], GRPCServerCall) async throws -> [UInt8], _ call: GRPCServerCall
    ) async {
        do {
            guard let request = try await call.next() else {
                throw GRPCStatus(.internal, "The client sent no message to the method \(path).")
            }
            let answer = try await handler(request, call)
            finish(.ok, message: answer)
        } catch {
            finish(GRPCStatus(thrown: error))
        }
    }

    private func runStreaming(
        _ handler: @Sendable (GRPCServerCall) async throws -> Void, _ call: GRPCServerCall
    ) async {
        do {
            try await handler(call)
            call.finish(.ok)
        } catch {
            call.finish(GRPCStatus(thrown: error))
        }
    }

    /// Hands in the end of the call, with the message that goes out in the same batch.
    func finish(_ status: GRPCStatus, trailers: GRPCMetadata = [:], message: [UInt8]? = nil) {
        var status = status
        var trailers = trailers
        do {
            try trailers.validate()
        } catch {
            status = GRPCStatus(.internal, error.message)
            trailers = [:]
        }
        if !status.details.isEmpty { trailers.add(status.details, for: GRPCStatus.detailsKey) }
        enqueue(Outgoing(message: message, end: .status(status, trailers: trailers)))
    }

    // MARK: Cancellation

    /// Whether the last receive failed, rather than met the client's half-close.
    var hasReceiveFailed: Bool { grpc_call_failed_before_recv_message(call) != 0 }

    func onCancel(_ action: @escaping @Sendable () -> Void) {
        let end = state.withLock { state in
            if state.end == nil { state.onCancel.append(action) }
            return state.end
        }
        if end == .cancelled { action() }
    }

    private func ended(_ end: End) {
        let (task, actions) = state.withLock { state in
            state.end = end
            // Whether they run or not: they may refer back to the call.
            defer { state.onCancel = [] }
            return (state.task, state.onCancel)
        }
        guard end == .cancelled else { return }
        task?.cancel()
        for action in actions { action() }
    }
}
