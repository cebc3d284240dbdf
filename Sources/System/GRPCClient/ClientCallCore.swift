import GRPCProtocol
import Synchronization
import SystemIO

/// The client's end of a call: a queue in each direction between the caller and the connection.
///
/// `@unchecked Sendable`: `place` is used on the loop's thread only; everything else is constant or
/// behind a lock.
final class ClientCallCore: @unchecked Sendable {
    /// The result of a call.
    struct End {
        let status: GRPCStatus
        let trailers: GRPCMetadata
    }

    private struct State {
        var end: End?
        var endWaiters: [UnsafeContinuation<End, Never>] = []
        var headers: GRPCMetadata?
        var headerWaiters: [UnsafeContinuation<GRPCMetadata, Never>] = []
    }

    private struct Receiving {
        var queue = ReceiveQueue<UnsafeContinuation<Received, Never>>()
        var encoding = MessageEncoding.identity
        /// Whether the connection keeps the server from sending more.
        var isHeldBack = false
        var count = 0
    }

    let path: String
    let options: GRPCCallOptions
    let deadline: ContinuousClock.Instant?
    let loop: NetworkLoop
    private let channel: ChannelCore
    private let isUnary: Bool
    private let sends = Mutex(SendQueue<UnsafeContinuation<Void, Never>>())
    private let receiving = Mutex(Receiving())
    private let state = Mutex(State())
    /// The connection and the stream of the call, once it has been sent.
    var place: (connection: ClientConnection, stream: ClientStream)?

    /// A duration longer than any program runs, but short enough to be added to a time.
    private static let longest = Duration.seconds(1 << 32)

    /// Creates a call that is not started.
    ///
    /// - Parameter isUnary: Whether the server answers with one message.
    /// - Throws: `invalidArgument` for illegal metadata, `deadlineExceeded` if the timeout is not
    ///   positive, and the errors of `ChannelCore.loop`.
    init(
        _ channel: ChannelCore, _ path: String, _ options: GRPCCallOptions, isUnary: Bool
    ) throws(GRPCStatus) {
        try options.metadata.validate()
        if let timeout = options.timeout, timeout <= .zero { throw Self.late }
        loop = try channel.loop()
        deadline = options.timeout.map { .now + min($0, Self.longest) }
        self.channel = channel
        self.path = path
        self.options = options
        self.isUnary = isUnary
    }

    static let late = GRPCStatus(.deadlineExceeded, "The deadline has passed.")

    // MARK: Sending

    /// Whether the end was enqueued. Nothing can be sent after it.
    var isSendingEnded: Bool { sends.withLock { $0.isEnded } }

    /// Starts the call.
    ///
    /// - Parameter first: The batch that is sent with the headers.
    func start(_ first: Outgoing) {
        var first = first
        first.headers = options.metadata
        enqueue(first)
    }

    /// Enqueues a batch without waiting.
    ///
    /// - Returns: False if the batch was dropped, because the call has failed or the batch may not
    ///   follow the earlier ones.
    @discardableResult
    func enqueue(_ batch: Outgoing) -> Bool {
        if let limit = channel.configuration.maximumSendSize, let size = batch.message?.count, size > limit {
            abort(
                GRPCStatus(.resourceExhausted, "A message of \(size) bytes is larger than the limit of \(limit)."))
            return false
        }
        switch sends.withLock({ $0.add(batch) }) {
        case .dropped: return false
        case .accepted(let start):
            if let start { loop.perform { [self] in send(start) } }
            return true
        }
    }

    /// Enqueues a batch and waits until there is room for the next one.
    ///
    /// - Returns: False if the batch was dropped, or the call failed meanwhile.
    nonisolated(nonsending) func send(_ batch: Outgoing) async -> Bool {
        guard enqueue(batch) else { return false }
        return await sends.waitForRoom()
    }

    /// Passes a batch to the connection, or the first batch to the channel. Runs on the loop.
    private func send(_ batch: Outgoing) {
        if let place {
            place.connection.start(batch, on: place.stream)
        } else if batch.headers != nil {
            channel.open(self, batch)
        }
    }

    /// Sends the next batch, after the connection has sent one. Runs on the loop.
    func sent() {
        let (start, waiters) = sends.withLock { $0.sent(succeeded: true) }
        if let start { send(start) }
        for waiter in waiters { waiter.resume() }
    }

    // MARK: Receiving

    /// Waits for the next message.
    nonisolated(nonsending) func receive() async -> Received {
        let (answer, mayGoOn) = receiving.withLock { receiving in
            let answer = receiving.queue.ask()
            guard receiving.isHeldBack, receiving.queue.hasRoom else { return (answer, false) }
            receiving.isHeldBack = false
            return (answer, true)
        }
        if mayGoOn {
            loop.perform { [self] in
                if let place { place.connection.resumeReceiving(place.stream) }
            }
        }
        if let answer { return answer }
        return await withUnsafeContinuation { continuation in
            if let answer = receiving.withLock({ $0.queue.wait(continuation) }) {
                continuation.resume(returning: answer)
            }
        }
    }

    /// Returns the decompressed form of a message that `receive` has returned.
    ///
    /// - Throws: `resourceExhausted` for a message that is too large when decompressed, `internal`
    ///   for a damaged one. The call ends with that status.
    func decoded(_ message: [UInt8]) throws(GRPCStatus) -> [UInt8] {
        let encoding = receiving.withLock { $0.encoding }
        do throws(GRPCStatus) {
            return try encoding.decoded(message, limit: channel.configuration.maximumReceiveSize)
        } catch {
            abort(error)
            throw error
        }
    }

    /// Adds a message that has arrived. Runs on the loop.
    ///
    /// - Returns: Whether the server may send more.
    /// - Throws: `internal` for a second message of a unary call.
    func received(_ message: [UInt8]) throws(GRPCStatus) -> Bool {
        let (reader, answer, hasRoom, count) = receiving.withLock { receiving in
            let (reader, answer) = receiving.queue.received(message)
            receiving.count += 1
            receiving.isHeldBack = !receiving.queue.hasRoom
            return (reader, answer, receiving.queue.hasRoom, receiving.count)
        }
        reader?.resume(returning: answer)
        if isUnary, count > 1 { throw GRPCStatus(.internal, "The server answered with more than one message.") }
        return hasRoom || isUnary
    }

    // MARK: Headers and the end

    /// Records the headers, which precede the messages. Runs on the loop.
    func received(_ headers: GRPCMetadata, encoding: MessageEncoding) {
        receiving.withLock { $0.encoding = encoding }
        let waiters = state.withLock { state -> [UnsafeContinuation<GRPCMetadata, Never>] in
            guard state.headers == nil else { return [] }
            state.headers = headers
            defer { state.headerWaiters = [] }
            return state.headerWaiters
        }
        for waiter in waiters { waiter.resume(returning: headers) }
    }

    /// Returns the server's headers, once they have arrived; empty if the call ended without any.
    nonisolated(nonsending) func waitForHeaders() async -> GRPCMetadata {
        await withUnsafeContinuation { continuation in
            let headers = state.withLock { state in
                if state.headers == nil { state.headerWaiters.append(continuation) }
                return state.headers
            }
            if let headers { continuation.resume(returning: headers) }
        }
    }

    /// The result of the call, or nil while it is in progress.
    var end: End? { state.withLock { $0.end } }

    var hasEnded: Bool { end != nil }

    nonisolated(nonsending) func waitForEnd() async -> End {
        await withUnsafeContinuation { continuation in
            let end = state.withLock { state in
                if state.end == nil { state.endWaiters.append(continuation) }
                return state.end
            }
            if let end { continuation.resume(returning: end) }
        }
    }

    /// Ends the call on this side. Only the first call has an effect.
    ///
    /// Messages that have arrived can still be read, unless they are discarded.
    func end(_ status: GRPCStatus, trailers: GRPCMetadata = [:], discardingMessages: Bool = false) {
        _ = isFirstEnd(status, trailers: trailers, discardingMessages: discardingMessages)
    }

    private func isFirstEnd(_ status: GRPCStatus, trailers: GRPCMetadata, discardingMessages: Bool) -> Bool {
        let end = End(status: status, trailers: trailers)
        let waiters = state.withLock { state -> State? in
            guard state.end == nil else { return nil }
            defer {
                state.end = end
                state.headers = state.headers ?? [:]
                state.endWaiters = []
                state.headerWaiters = []
            }
            return state
        }
        guard let waiters else { return false }
        let senders = sends.withLock { $0.sent(succeeded: false).resume }
        let (reader, answer) = receiving.withLock { receiving in
            if discardingMessages { receiving.queue.removeAll() }
            let (reader, answer) = receiving.queue.received(nil)
            return (reader, answer)
        }
        for waiter in waiters.headerWaiters { waiter.resume(returning: [:]) }
        reader?.resume(returning: answer)
        for waiter in senders { waiter.resume() }
        for waiter in waiters.endWaiters { waiter.resume(returning: end) }
        return true
    }

    /// Ends the call on both sides at once. Safe on any thread.
    func abort(_ status: GRPCStatus) {
        guard isFirstEnd(status, trailers: [:], discardingMessages: true) else { return }
        loop.later { [self] in
            if let place { place.connection.abandon(place.stream) } else { channel.forget(self) }
        }
    }

    func cancel() { abort(GRPCStatus(.cancelled, "The call was cancelled.")) }
}
