import GRPCProtocol
import Synchronization
import SystemIO

/// The server's end of a call: a queue in each direction between its handler and its connection,
/// and the task of the handler.
final class ServerCallCore: Sendable {
    enum End {
        case finished
        case cancelled
    }

    private struct Receiving {
        var queue = ReceiveQueue<UnsafeContinuation<Received, Never>>()
        /// Whether the connection keeps the client from sending more.
        var isHeldBack = false
        /// The number of bytes of the message that the handler read last.
        var given = 0
    }

    private struct State {
        var task: Task<Void, Never>?
        var end: End?
        var onCancel: [@Sendable () -> Void] = []
    }

    let path: String
    let metadata: GRPCMetadata
    let caller: (any GRPCCaller)?
    private let client: GRPCPeer
    let deadline: ContinuousClock.Instant?
    private let encoding: MessageEncoding
    private let usage: CallerUsage
    /// The bytes of this call that `usage.held` and `usage.unread` include.
    private let held = Atomic(0)
    private let unread = Atomic(0)
    private let connection: any CallTransport
    private let settings: ServerSettings
    private let stream: Int32
    private let sends = Mutex(SendQueue<UnsafeContinuation<Void, Never>>())
    private let receiving = Mutex(Receiving())
    private let state = Mutex(State())

    init(
        _ connection: any CallTransport, stream: Int32, path: String, metadata: GRPCMetadata,
        caller: (any GRPCCaller)?, peer: GRPCPeer, usage: CallerUsage, deadline: ContinuousClock.Instant?,
        encoding: MessageEncoding
    ) {
        self.connection = connection
        settings = connection.settings
        self.stream = stream
        self.path = path
        self.metadata = metadata
        self.caller = caller
        client = peer
        self.usage = usage
        self.deadline = deadline
        self.encoding = encoding
    }

    deinit {
        releaseAll()
        releaseUnread()
    }

    var peer: String { client.description }

    var isCancelled: Bool { state.withLock { $0.end == .cancelled } }

    // MARK: Handling

    /// Starts the task of a method on the thread of the connection.
    ///
    /// The task belongs to this call: it is cancelled with it, and the server's shutdown waits for
    /// its end.
    func run(_ method: GRPCMethod?) {
        guard let method else {
            return finish(GRPCStatus(.unimplemented, "The method \(path.prefix(200)) is not known here."))
        }
        let call = GRPCServerCall(self)
        connection.handlerStarted()
        state.withLock { state in
            state.task = Task(executorPreference: connection.loop) { [self] in
                switch method {
                case .unary(let handler): await runUnary(handler, call)
                case .streaming(let handler): await runStreaming(handler, call)
                }
                self.state.withLock { $0.task = nil }
                releaseAll()
                connection.handlerEnded()
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

    /// Enqueues the end of the call, preceded by a message if there is one.
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
        let batch = Outgoing(message: message, end: .status(status, trailers: trailers))
        guard case .refused = enqueue(batch) else { return }
        enqueue(Outgoing(end: .status(Self.tooMuchUnread, trailers: [:])))
    }

    // MARK: Limits

    static let tooMuchHeld = GRPCStatus(
        .resourceExhausted, "Too many large requests of this client are in progress at once.")
    static let tooMuchUnread = GRPCStatus(
        .resourceExhausted, "Too many answers wait for this client, which does not read them.")

    /// Counts bytes that the server keeps for the request.
    ///
    /// - Returns: False if the caller may not use that many.
    func hold(_ bytes: Int) -> Bool {
        let limits = settings.configuration.limits
        let mayBeMany = usage.hasAccount || settings.configuration.authorize == nil
        guard usage.held.add(bytes, within: mayBeMany ? limits.heldPerAccount : limits.heldPerAddress) else {
            return false
        }
        held.add(bytes, ordering: .relaxed)
        return true
    }

    /// Returns the number of bytes that `hold` counted for a message.
    private func size(of answer: Received?) -> Int {
        guard case .message(let message)? = answer else { return 0 }
        // The message was preceded by a flag and a length. If messages may be compressed, the flag
        // is still in the message.
        return message.count + (encoding == .identity ? 5 : 4)
    }

    /// Releases the bytes of a closed stream, unless a handler works on them.
    func streamClosed() {
        if state.withLock({ $0.task == nil }) { releaseAll() }
    }

    /// Releases the bytes of a message that the handler has finished with.
    private func release(_ bytes: Int) {
        guard bytes > 0 else { return }
        // The call may have ended meanwhile and released all its bytes.
        let (old, _) = held.subtract(bytes, ordering: .relaxed)
        let released = min(max(0, old), bytes)
        if released < bytes { held.add(bytes - released, ordering: .relaxed) }
        usage.held.subtract(released)
    }

    /// Releases all bytes of the request.
    func releaseAll() { usage.held.subtract(held.exchange(0, ordering: .relaxed)) }

    /// Counts the bytes of a message that is sent to the client.
    ///
    /// - Returns: False if the client has too many unread bytes.
    private func addUnread(_ bytes: Int) -> Bool {
        let limits = settings.configuration.limits
        guard usage.unread.add(bytes, within: limits.unreadPerCaller) else { return false }
        guard connection.unread.add(bytes, within: limits.unreadPerConnection) else {
            usage.unread.subtract(bytes)
            return false
        }
        unread.add(bytes, ordering: .relaxed)
        return true
    }

    private func subtractUnread(_ bytes: Int) {
        guard bytes > 0 else { return }
        unread.subtract(bytes, ordering: .relaxed)
        usage.unread.subtract(bytes)
        connection.unread.subtract(bytes)
    }

    private func releaseUnread() {
        let bytes = unread.exchange(0, ordering: .relaxed)
        usage.unread.subtract(bytes)
        connection.unread.subtract(bytes)
    }

    // MARK: Sending

    /// Whether headers were enqueued. None can be sent after them.
    var hasHeaders: Bool { sends.withLock { $0.hasHeaders } }

    /// Whether an end was enqueued. Nothing can be sent after it.
    var isSendingEnded: Bool { sends.withLock { $0.isEnded } }

    /// The result of enqueuing a batch.
    enum Admission {
        case accepted
        /// The call has failed, or the batch may not follow the earlier ones.
        case dropped
        /// The client has too many unread bytes already.
        case refused
    }

    /// Enqueues a batch without waiting.
    @discardableResult
    func enqueue(_ batch: Outgoing) -> Admission {
        let size = batch.message?.count ?? 0
        if size > 0, !addUnread(size) { return .refused }
        switch sends.withLock({ $0.add(batch) }) {
        case .dropped:
            subtractUnread(size)
            return .dropped
        case .accepted(let start):
            if let start { connection.loop.perform { [self] in connection.start(start, on: stream, of: self) } }
            return .accepted
        }
    }

    /// Enqueues a batch and waits until there is room for the next one.
    ///
    /// - Returns: `.dropped` also if the call failed meanwhile.
    nonisolated(nonsending) func send(_ batch: Outgoing) async -> Admission {
        let admission = enqueue(batch)
        guard case .accepted = admission else { return admission }
        return await sends.waitForRoom() ? .accepted : .dropped
    }

    /// Records that the connection has sent a batch with this number of bytes of a message, or never
    /// will.
    func sent(succeeded success: Bool, bytes: Int = 0) {
        subtractUnread(bytes)
        let (start, waiters) = sends.withLock { $0.sent(succeeded: success) }
        if !success { releaseUnread() }
        if let start { connection.start(start, on: stream, of: self) }
        for waiter in waiters { waiter.resume() }
    }

    // MARK: Receiving

    /// Returns the decompressed form of a message that `receive` has returned.
    func decoded(_ message: [UInt8]) throws(GRPCStatus) -> [UInt8] {
        let decoded = try encoding.decoded(message, limit: settings.configuration.maximumReceiveSize)
        let more = decoded.count - message.count
        if more > 0 {
            guard hold(more) else { throw Self.tooMuchHeld }
            receiving.withLock { $0.given += more }
        }
        return decoded
    }

    /// Waits for the next message.
    nonisolated(nonsending) func receive() async -> Received {
        let (answer, mayGoOn, done) = receiving.withLock { receiving in
            let answer = receiving.queue.ask()
            let done = receiving.given
            receiving.given = size(of: answer)
            guard receiving.isHeldBack, receiving.queue.hasRoom else { return (answer, false, done) }
            receiving.isHeldBack = false
            return (answer, true, done)
        }
        release(done)
        if mayGoOn { connection.loop.perform { [self] in connection.resumeReceiving(stream) } }
        if let answer { return answer }
        return await withUnsafeContinuation { continuation in
            let answer = receiving.withLock { receiving in
                let answer = receiving.queue.wait(continuation)
                receiving.given = size(of: answer)
                return answer
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    /// Adds a message that has arrived, or nil after the last one.
    ///
    /// - Returns: Whether the client may send more.
    func received(_ message: [UInt8]?) -> Bool {
        let (reader, answer, hasRoom) = receiving.withLock { receiving in
            let (reader, answer) = receiving.queue.received(message)
            if reader != nil { receiving.given = size(of: answer) }
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

    /// Ends the call because the connection has finished with it. Only the first end has an effect.
    func ended(_ end: End) {
        let (isFirst, task, actions) = state.withLock { state in
            let isFirst = state.end == nil
            state.end = state.end ?? end
            // Drop the actions even if they do not run, because they may refer back to the call.
            defer { state.onCancel = [] }
            return (isFirst, state.task, state.onCancel)
        }
        guard isFirst else { return }
        if end == .cancelled {
            task?.cancel()
            for action in actions { action() }
        }
        sent(succeeded: false)
        _ = received(nil)
    }
}
