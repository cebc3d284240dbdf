import Synchronization
import SystemIO

/// A call on the server: a queue in each direction between its handler and its connection, and the task of the handler.
final class ServerCallCore: Sendable {
    enum End {
        case finished
        case cancelled
    }

    private struct Receiving {
        var queue = ReceiveQueue<UnsafeContinuation<Received, Never>>()
        /// The connection keeps the client from sending more.
        var isHeldBack = false
    }

    private struct State {
        var task: Task<Void, Never>?
        var end: End?
        var onCancel: [@Sendable () -> Void] = []
    }

    let path: String
    let metadata: GRPCMetadata
    let peer: String
    let deadline: ContinuousClock.Instant?
    private let encoding: MessageEncoding
    private let connection: ServerConnection
    private let stream: Int32
    private let sends = Mutex(SendQueue<UnsafeContinuation<Void, Never>>())
    private let receiving = Mutex(Receiving())
    private let state = Mutex(State())

    init(
        _ connection: ServerConnection, stream: Int32, path: String, metadata: GRPCMetadata,
        peer: GRPCPeer, deadline: ContinuousClock.Instant?, encoding: MessageEncoding
    ) {
        self.connection = connection
        self.stream = stream
        self.path = path
        self.metadata = metadata
        self.peer = peer.description
        self.deadline = deadline
        self.encoding = encoding
    }

    var isCancelled: Bool { state.withLock { $0.end == .cancelled } }

    // MARK: Handling

    /// Finds the method and starts its task, on the thread of the connection. The task belongs to this call: it is
    /// cancelled with it, and the server's shutdown waits for its end.
    func run() {
        guard let method = connection.server.resolve(path) else {
            return finish(GRPCStatus(.unimplemented, "The method \(path.prefix(200)) is not known here."))
        }
        let call = GRPCServerCall(self)
        connection.server.handlerStarted()
        state.withLock { state in
            state.task = Task(executorPreference: connection.loop) { [self] in
                switch method {
                case .unary(let handler): await runUnary(handler, call)
                case .streaming(let handler): await runStreaming(handler, call)
                }
                self.state.withLock { $0.task = nil }
                connection.server.handlerEnded()
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

    /// Hands in the end of the call, with the message that goes ahead of it.
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

    // MARK: Sending

    /// Whether headers were handed in; none can be sent after them.
    var hasHeaders: Bool { sends.withLock { $0.hasHeaders } }

    /// Whether an end was handed in; nothing can be sent after it.
    var isSendingEnded: Bool { sends.withLock { $0.isEnded } }

    /// Hands in a batch behind those that wait; does not wait itself.
    /// - Returns: false if it was dropped, because the call has failed or the batch may not follow the ones before.
    @discardableResult
    func enqueue(_ batch: Outgoing) -> Bool {
        switch sends.withLock({ $0.add(batch) }) {
        case .dropped: return false
        case .accepted(let start):
            if let start { connection.loop.perform { [self] in connection.start(start.batch, on: stream, of: self) } }
            return true
        }
    }

    /// Hands in a batch and waits until there is room for the next one.
    /// - Returns: false if it was dropped, or the call failed meanwhile.
    nonisolated(nonsending) func send(_ batch: Outgoing) async -> Bool {
        guard enqueue(batch) else { return false }
        return await sends.waitForRoom()
    }

    /// The connection has sent the batch, or never will.
    func sent(_ success: Bool) {
        let (start, waiters) = sends.withLock { $0.sent(success) }
        if let start { connection.start(start.batch, on: stream, of: self) }
        for waiter in waiters { waiter.resume() }
    }

    // MARK: Receiving

    /// The message that `receive` gave.
    func decoded(_ message: [UInt8]) throws(GRPCStatus) -> [UInt8] {
        try encoding.decoded(message, limit: connection.server.configuration.maximumReceiveSize)
    }

    /// Waits for the next message.
    nonisolated(nonsending) func receive() async -> Received {
        let (answer, mayGoOn) = receiving.withLock { receiving in
            let answer = receiving.queue.ask().answer
            guard receiving.isHeldBack, receiving.queue.hasRoom else { return (answer, false) }
            receiving.isHeldBack = false
            return (answer, true)
        }
        if mayGoOn { connection.loop.perform { [self] in connection.resumeReceiving(stream) } }
        if let answer { return answer }
        return await withUnsafeContinuation { continuation in
            let answer = receiving.withLock { $0.queue.wait(continuation) }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    /// The connection has a message, or nil after the last one.
    /// - Returns: whether the client may send more.
    func received(_ message: [UInt8]?) -> Bool {
        let (reader, answer, hasRoom) = receiving.withLock { receiving in
            let (reader, answer, _) = receiving.queue.received(message)
            receiving.isHeldBack = !receiving.queue.hasRoom
            return (reader, answer, receiving.queue.hasRoom)
        }
        reader?.resume(returning: answer)
        return hasRoom
    }

    // MARK: The end

    func onCancel(_ action: @escaping @Sendable () -> Void) {
        let end = state.withLock { state in
            if state.end == nil { state.onCancel.append(action) }
            return state.end
        }
        if end == .cancelled { action() }
    }

    /// The connection has done with the call. The first end counts.
    func ended(_ end: End) {
        let (isFirst, task, actions) = state.withLock { state in
            let isFirst = state.end == nil
            state.end = state.end ?? end
            // Whether they run or not: they may refer back to the call.
            defer { state.onCancel = [] }
            return (isFirst, state.task, state.onCancel)
        }
        guard isFirst else { return }
        if end == .cancelled {
            task?.cancel()
            for action in actions { action() }
        }
        sent(false)
        _ = received(nil)
    }
}
