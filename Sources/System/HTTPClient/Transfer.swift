import CCurl
import HTTPMessages
import Synchronization

/// One exchange: what libcurl's callbacks (on the engine's thread) and the tasks at both ends of the bodies share.
///
/// `@unchecked Sendable`: `request`, `easy`, `lists` and the variables below them are used by the
/// engine's thread alone, once it has the exchange; all else is immutable or in `state`.
final class Transfer: @unchecked Sendable {
    struct State {
        var head: CheckedContinuation<(HTTPStatus, HTTPHeaders), any Error>?
        var headResult: Result<(HTTPStatus, HTTPHeaders), any Error>?

        /// Received and not yet read.
        var received: [UInt8] = []
        var reader: CheckedContinuation<[UInt8]?, any Error>?
        var receivingIsPaused = false
        /// Whoever reads waits for the whole rest, which gathers in `received`.
        var collectsRest = false

        /// Of a streamed request body: read from its owner and not yet sent.
        var outgoing: [[UInt8]] = []
        var outgoingBytes = 0
        var outgoingHasEnded = false
        var sendingIsPaused = false
        var writer: CheckedContinuation<Bool, Never>?
        var pump: Task<Void, Never>?

        /// Success: the response came whole.
        var end: Result<Void, any Error>?

        mutating func takeReceived() -> [UInt8] {
            defer { received = [] }
            return received
        }
    }

    /// Above this many unread bytes receiving rests; a streamed request body is read ahead as far.
    static let highWater = 256 << 10

    /// Its body goes when it has been sent and answered.
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

    /// Throws `.invalidMessage` for what cannot be put on the wire.
    init(_ request: HTTPRequest, engine: ClientEngine) throws {
        origin = try Self.check(request)
        self.request = request
        self.engine = engine
        errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit { errorBuffer.deallocate() }

    // MARK: the caller's side

    var isFinished: Bool { state.withLock { $0.end != nil } }

    /// Waits for status and header fields; called once.
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

    /// Appends the rest of the body to `bytes`, each byte where it is to stay: nothing rests
    /// meanwhile, however long it is. If the exchange fails, what came before that is in `bytes`.
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
            // What is whole stays where it is.
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

    /// Ends the exchange with an error, or well (nil); false where it had ended already.
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

    /// A reader only waits where there is nothing to read, but `deliver` may not have come around yet.
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
        // Who waits for the answer may have a use for the memory.
        request.body = .none
        finish(result == CURLE_OK ? nil : error(for: result))
    }

    /// Hands what this round received to a waiting reader.
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

    /// Tells libcurl which directions may go on and which must rest.
    func unpause() {
        guard let easy else { return }
        let isPaused = state.withLock { state in
            state.sendingIsPaused = state.sendingIsPaused && state.outgoing.isEmpty && !state.outgoingHasEnded
            return (receiving: state.receivingIsPaused, sending: state.sendingIsPaused)
        }
        curl_easy_pause(easy, (isPaused.receiving ? CURLPAUSE_RECV : 0) | (isPaused.sending ? CURLPAUSE_SEND : 0))
    }
}
