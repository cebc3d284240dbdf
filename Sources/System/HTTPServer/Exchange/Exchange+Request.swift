import HTTPMessages
import Synchronization

/// Receiving the request and passing it to the handler.
extension Exchange {
    /// The header fields are there: starts the handler.
    func open(method: UnsafePointer<CChar>, version: UnsafePointer<CChar>) -> Bool {
        guard core.begin(self) else { return false }
        let header = HeaderBlock(of: connection, target: targetEnd, method: method, version: version)
        let headers = header.headers
        if let problem = header.problem {
            // What follows may be a body or another request, so nothing after it is read.
            return refuse(
                HTTPResponse(
                    .badRequest, headers: ["Content-Type": "text/plain; charset=utf-8", "Connection": "close"],
                    body: .text("\(problem)\n")))
        }
        let isChunked = headers["Transfer-Encoding"] != nil
        // Content-Length is ignored if the body is chunked (RFC 9112 section 6.3).
        let length = isChunked ? nil : headers.contentLength
        let hasBody = isChunked || (length ?? 0) > 0
        guard let target = HTTPTarget(target) else {
            answerEarly(.text(.badRequest, "The request's target is malformed.\n"), headers, hasBody)
            return true
        }
        guard (length ?? 0) <= core.settings.limits.body else {
            let limit = core.settings.limits.body
            answerEarly(.text(.contentTooLarge, "A body may have \(limit) bytes here.\n"), headers, hasBody)
            return true
        }
        let body: HTTPBody =
            hasBody
            ? HTTPBody(incoming: length) {
                try await self.nextChunk()
            } rest: {
                try await self.collectRest(into: &$0)
            } : .none
        let request = HTTPServerRequest(
            HTTPMethod(rawValue: String(cString: method)), target, headers: headers, body: body,
            peer: peer?.peer(of: headers) ?? HTTPPeer(), isSecure: core.settings.isSecure)
        let waits = hasBody && headers["Expect"]?.lowercased() == "100-continue"
        state.withLock { state in
            state.stage = waits ? .expecting : .receiving
            if waits { suspend(&state) }
            state.incomingExpected = length ?? 0
            if hasBody { start(request, &state) } else { state.waiting = request }
        }
        if hasBody { core.watch(peer, after: core.settings.paceInterval) }
        return true
    }

    /// Sends a response without reading the body.
    private func refuse(_ response: HTTPResponse) -> Bool {
        state.withLock { state in
            state.response = response
            state.incomingIsUnwanted = true
            state.stage = .answered
        }
        return queue(response)
    }

    /// Sends a response in place of the handler's.
    ///
    /// A small body is still read, because a client that cannot finish sending may never read the
    /// answer.
    private func answerEarly(_ response: HTTPResponse, _ headers: HTTPHeaders, _ hasBody: Bool) {
        let isNow =
            hasBody && (headers["Expect"] != nil || (headers.contentLength ?? 0) > Self.dropLimit)
        state.withLock { state in
            state.response = response
            state.incomingIsUnwanted = true
            state.stage = isNow ? .answered : .receiving
        }
        if isNow { queue(response) }
    }

    func start(_ request: HTTPServerRequest, _ state: inout State) {
        state.task = Task(executorPreference: core.executor) { await self.run(request) }
    }

    func goOnExpecting() -> Bool {
        let response: HTTPResponse? = state.withLock { state in
            if let response = state.response {
                state.stage = .answered
                return response
            }
            // Either the handler asks for the body or the client is gone; the next callback shows
            // which.
            state.stage = .receiving
            return nil
        }
        if let response { queue(response) }
        return true
    }

    /// The effects of a piece of the body on the reader and on libmicrohttpd.
    private struct Delivery {
        var reader: CheckedContinuation<[UInt8]?, any Error>?
        var chunk: [UInt8] = []
        var failure: HTTPError?
        /// Whether the connection is kept.
        var goesOn = true
    }

    /// A piece of the body; copied, as libmicrohttpd's buffer is its own.
    func receive(_ data: UnsafeRawBufferPointer) -> Bool {
        let delivery = state.withLock { state -> Delivery in
            if state.incomingIsUnwanted || state.incomingFailure != nil {
                state.incomingDropped += data.count
                return Delivery(goesOn: state.incomingDropped <= Self.dropLimit)
            }
            state.incomingTotal += data.count
            if state.incomingTotal > core.settings.limits.body {
                let limit = core.settings.limits.body
                state.incomingFailure = HTTPError(.bodyTooLarge, "The body has more than the \(limit) bytes allowed.")
                state.incoming = []
                defer { state.reader = nil }
                return Delivery(reader: state.reader, failure: state.incomingFailure)
            }
            // Reserve once, so that the buffer grows in place.
            if state.incoming.isEmpty, !state.collectsRest {
                let expected = state.incomingExpected - state.incomingTotal + data.count
                state.incoming.reserveCapacity(min(max(expected, data.count), Self.highWater + data.count))
            }
            state.incoming.append(contentsOf: data)
            if state.collectsRest { return Delivery() }
            if state.hasPart, let reader = state.reader {
                defer { (state.reader, state.incoming) = (nil, []) }
                return Delivery(reader: reader, chunk: state.incoming)
            }
            // The last piece does not suspend the connection; see `answerOrWait`.
            if state.incoming.count >= Self.highWater, state.incomingTotal != state.incomingExpected { suspend(&state) }
            return Delivery()
        }
        if let failure = delivery.failure {
            delivery.reader?.resume(throwing: failure)
        } else {
            delivery.reader?.resume(returning: delivery.chunk)
        }
        return delivery.goesOn
    }

    /// Appends the rest of the body to `bytes` without copying it again later.
    ///
    /// The connection is not suspended meanwhile, so the caller must have checked the length. If
    /// the body breaks off, `bytes` is left empty.
    private func collectRest(into bytes: inout [UInt8]) async throws {
        var room: [UInt8] = []
        swap(&room, &bytes)
        state.withLock { state in
            guard !state.incomingIsUnwanted, state.incomingFailure == nil else { return }
            room += state.incoming
            swap(&room, &state.incoming)
            state.collectsRest = true
            resume(&state)
        }
        _ = try await nextChunk()
        state.withLock { swap(&bytes, &$0.incoming) }
    }

    /// Returns the next chunk of the request's body, or nil at its end.
    private func nextChunk() async throws -> [UInt8]? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<[UInt8]?, any Error>? = state.withLock { state in
                    if state.incomingIsUnwanted || state.reader != nil {
                        return .failure(HTTPError(.bodyGone, "A request's body was read twice, or after its handler."))
                    }
                    if state.hasPart, !state.collectsRest {
                        defer { state.incoming = [] }
                        resume(&state)
                        return .success(state.incoming)
                    }
                    if let failure = state.incomingFailure { return .failure(failure) }
                    switch state.stage {
                    case .opened, .receiving: break
                    case .expecting: resume(&state)
                    case .received, .answered: return .success(nil)
                    case .detached: return .failure(Self.lost)
                    }
                    if Task.isCancelled { return .failure(CancellationError()) }
                    state.reader = continuation
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let reader = state.withLock { state in
                defer { state.reader = nil }
                return state.reader
            }
            reader?.resume(throwing: CancellationError())
        }
    }
}
