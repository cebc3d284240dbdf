import CCurl
import HTTPMessages
import Synchronization

/// One exchange: the state shared by libcurl's callbacks, on the engine's thread, and the tasks at
/// both ends of the bodies.
///
/// `@unchecked Sendable`: once the engine has the exchange, only the engine's thread uses
/// `request`, `easy`, `lists` and the variables below them. Everything else is immutable or in
/// `state`.
final class Transfer: @unchecked Sendable {
    struct State {
        var head: CheckedContinuation<(HTTPStatus, HTTPHeaders), any Error>?
        var headResult: Result<(HTTPStatus, HTTPHeaders), any Error>?

        /// Bytes that were received and not yet read.
        var received: [UInt8] = []
        var reader: CheckedContinuation<[UInt8]?, any Error>?
        var receivingIsPaused = false
        /// Whether the reader waits for the whole rest, which is collected in `received`.
        var collectsRest = false

        /// Chunks of a streamed request body that were read from its owner and not yet sent.
        var outgoing: [[UInt8]] = []
        var outgoingBytes = 0
        var outgoingHasEnded = false
        var sendingIsPaused = false
        var writer: CheckedContinuation<Bool, Never>?
        var pump: Task<Void, Never>?

        /// The result of the exchange; success means that the response is complete.
        var end: Result<Void, any Error>?

        mutating func takeReceived() -> [UInt8] {
            defer { received = [] }
            return received
        }
    }

    /// The number of unread bytes above which receiving pauses, and up to which a streamed request
    /// body is read ahead.
    static let highWater = 256 << 10

    /// The request. Its body is released once the exchange has ended.
    private(set) var request: HTTPRequest
    let origin: String
    let engine: ClientEngine
    let state = Mutex(State())

    private(set) var easy: UnsafeMutableRawPointer?
    var lists: [UnsafeMutablePointer<curl_slist>] = []
    let errorBuffer = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    var status = 0
    var headers = HTTPHeaders()
    var headerBytes = 0
    var isHeadComplete = false
    var uploaded = 0
    var downloaded = 0
    var expected = Int.max

    /// Creates an exchange; throws `.invalidMessage` for a request that cannot be sent.
    init(_ request: HTTPRequest, engine: ClientEngine) throws {
        origin = try Self.check(request)
        self.request = request
        self.engine = engine
        errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit { errorBuffer.deallocate() }

    // MARK: the caller's side

    var isFinished: Bool { state.withLock { $0.end != nil } }

    /// Waits for the status and the header fields. May be called once.
    func head() async throws -> (HTTPStatus, HTTPHeaders) {
        try await withCheckedThrowingContinuation { continuation in
            let result: Result<(HTTPStatus, HTTPHeaders), any Error>? = state.withLock { state in
                if state.headResult == nil { state.head = continuation }
                return state.headResult
            }
            if let result { continuation.resume(with: result) }
        }
    }

    func next() async throws -> [UInt8]? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                var mustUnpause = false
                let result: Result<[UInt8]?, any Error>? = state.withLock { state in
                    if !state.received.isEmpty {
                        mustUnpause = state.receivingIsPaused
                        state.receivingIsPaused = false
                        return .success(state.takeReceived())
                    }
                    if let end = state.end { return end.map { nil } }
                    if state.reader != nil {
                        return .failure(HTTPError(.bodyGone, "A response's body has two readers."))
                    }
                    state.reader = continuation
                    return nil
                }
                if mustUnpause { engine.unpause(self) }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            cancel()
        }
    }

    /// Appends the rest of the body to `bytes` without copying it again later.
    ///
    /// Receiving is not paused meanwhile, however long the rest is. If the exchange fails, `bytes`
    /// has what arrived before.
    func collectRest(into bytes: inout [UInt8]) async throws {
        do {
            let rest = try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { beginCollecting(into: &bytes, $0) }
            } onCancel: {
                cancel()
            }
            bytes = rest ?? state.withLock { $0.takeReceived() }
        } catch {
            bytes = state.withLock { $0.takeReceived() }
            throw error
        }
    }

    private func beginCollecting(into bytes: inout [UInt8], _ reader: CheckedContinuation<[UInt8]?, any Error>) {
        var room: [UInt8] = []
        swap(&room, &bytes)
        var mustUnpause = false
        let end = state.withLock { state in
            // A body that is already complete is not moved.
            if room.isEmpty, state.end != nil { return state.end }
            room.append(contentsOf: state.received)
            swap(&room, &state.received)
            guard state.end == nil else { return state.end }
            state.reader = reader
            state.collectsRest = true
            swap(&mustUnpause, &state.receivingIsPaused)
            return nil
        }
        if mustUnpause { engine.unpause(self) }
        if let end { reader.resume(with: end.map { nil }) }
    }

    func cancel() {
        if finish(CancellationError()) { engine.cancel(self) }
    }

    /// Ends the exchange with an error, or successfully for nil.
    ///
    /// - Returns: False if it had already ended.
    @discardableResult
    func finish(_ error: (any Error)?) -> Bool {
        let ended: State? = state.withLock { state in
            guard state.end == nil else { return nil }
            let end: Result<Void, any Error> = error.map { .failure($0) } ?? .success(())
            state.end = end
            if state.headResult == nil {
                state.headResult = .failure(error ?? HTTPError(.protocolViolation, "\(origin) sent no HTTP response."))
            }
            state.outgoing = []
            defer {
                state.head = nil
                state.reader = nil
                state.writer = nil
                state.pump = nil
            }
            return state
        }
        guard let ended else { return false }
        ended.pump?.cancel()
        ended.writer?.resume(returning: false)
        if let result = ended.headResult { ended.head?.resume(with: result) }
        if let error { ended.reader?.resume(throwing: error) } else { endReader(ended.reader) }
        return true
    }

    /// Resumes a reader at the end of the exchange with the bytes that `deliver` has not delivered,
    /// or nil.
    private func endReader(_ reader: CheckedContinuation<[UInt8]?, any Error>?) {
        guard let reader else { return }
        let rest = state.withLock { $0.takeReceived() }
        reader.resume(returning: rest.isEmpty ? nil : rest)
    }

    // MARK: the engine's side

    func open() -> UnsafeMutableRawPointer? {
        easy = engine.takeHandle()
        guard let easy, configure(easy) else { return nil }
        if case .stream(_, let next) = request.body.content { startPump(next) }
        return easy
    }

    func close() {
        if let easy { engine.give(easy) }
        easy = nil
        lists.forEach { curl_slist_free_all($0) }
        lists = []
    }

    func complete(_ result: CURLcode) {
        // The caller that waits for the response may need the memory.
        request.body = .none
        finish(result == CURLE_OK ? nil : error(for: result))
    }

    /// Passes the bytes of this round to a waiting reader.
    func deliver() {
        var chunk: [UInt8] = []
        let (reader, mustUnpause) = state.withLock { state -> (CheckedContinuation<[UInt8]?, any Error>?, Bool) in
            guard let reader = state.reader, !state.received.isEmpty, !state.collectsRest else { return (nil, false) }
            swap(&chunk, &state.received)
            defer {
                state.reader = nil
                state.receivingIsPaused = false
            }
            return (reader, state.receivingIsPaused)
        }
        reader?.resume(returning: chunk)
        if mustUnpause { unpause() }
    }

    /// Sets which directions libcurl may continue and which stay paused.
    func unpause() {
        guard let easy else { return }
        let isPaused = state.withLock { state in
            state.sendingIsPaused = state.sendingIsPaused && state.outgoing.isEmpty && !state.outgoingHasEnded
            return (receiving: state.receivingIsPaused, sending: state.sendingIsPaused)
        }
        curl_easy_pause(easy, (isPaused.receiving ? CURLPAUSE_RECV : 0) | (isPaused.sending ? CURLPAUSE_SEND : 0))
    }
}
