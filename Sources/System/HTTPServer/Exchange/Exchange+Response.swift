import CMicroHTTPD
import Glibc
import HTTPMessages
import Synchronization

/// Sending the response to the client.
extension Exchange {
    /// Runs the handler and produces a streamed response. This is the body of the exchange's task.
    func run(_ request: HTTPServerRequest) async {
        var response: HTTPResponse
        do {
            response = try await core.settings.handler(request)
        } catch {
            response = answer(to: error)
        }
        if !response.headers.areValid {
            core.settings.onError(HTTPError(.invalidMessage, "A response to \(target) has a malformed header field."))
            response = .text(.internalServerError, "The response was malformed.\n")
        }
        state.withLock { state in
            guard state.stage != .detached else { return }
            state.response = response
            state.incomingIsUnwanted = true
            state.incoming = []
            resume(&state)
        }
        guard case .stream(_, let next) = response.body.content, request.method != .head else { return }
        do {
            while let chunk = try await next() {
                guard await offer(chunk) else { return }
            }
            endOutgoing(failed: false)
        } catch {
            if !(error is CancellationError) { core.settings.onError(error) }
            endOutgoing(failed: true)
        }
    }

    private func answer(to error: any Error) -> HTTPResponse {
        switch (error as? HTTPError)?.code {
        case .bodyTooLarge?: return .text(.contentTooLarge, "The body is larger than allowed here.\n")
        case .connectionLost?: return .text(.badRequest, "The request broke off.\n")
        default: break
        }
        if error is CancellationError { return .text(.serviceUnavailable, "The request was cancelled.\n") }
        core.settings.onError(error)
        return .text(.internalServerError, "The server failed to answer.\n")
    }

    /// Sends the response to a complete or refused request, or suspends the connection until there is
    /// an answer.
    ///
    /// The connection is suspended only at libmicrohttpd's second call. At the first call
    /// libmicrohttpd has not recorded that the request is complete; resumed in that state, it reads
    /// the socket, finds that a client has closed its side, and drops the connection.
    func answerOrWait() -> Bool {
        typealias Result = (HTTPResponse?, CheckedContinuation<[UInt8]?, any Error>?, Task<Void, Never>?)
        let (response, reader, task) = state.withLock { state -> Result in
            let isFirst = state.stage != .received
            state.stage = .received
            defer { state.reader = nil }
            // A handler that has just started has until the second call to answer.
            let task = isFirst && state.response == nil ? nil : state.task
            if let response = state.response {
                state.stage = .answered
                return (response, state.reader, task)
            }
            if !isFirst { suspend(&state) }
            if let request = state.waiting {
                state.waiting = nil
                start(request, &state)
            }
            return (nil, state.reader, task)
        }
        reader?.resume(returning: nil)
        // If the client's end came with the request, `hangUp` ran when there was no task to cancel.
        if peer?.hasHungUp == true { task?.cancel() }
        if let response { return queue(response) }
        return true
    }

    /// Passes the response to libmicrohttpd. Runs on libmicrohttpd's thread.
    @discardableResult
    func queue(_ response: HTTPResponse) -> Bool {
        guard let made = make(response.body) else { return false }
        defer { MHD_destroy_response(made) }
        for field in response.headers {
            // libmicrohttpd sets these fields itself, from the body and the connection.
            if ["content-length", "transfer-encoding", "date"].contains(field.name.lowercased()) { continue }
            // libmicrohttpd refuses an empty value, and white space around a value is ignored (RFC
            // 9110 section 5.5).
            let value = field.value.isEmpty ? " " : field.value
            guard MHD_add_response_header(made, field.name, value) == .YES else { return false }
        }
        if core.isDraining.load(ordering: .relaxed) { MHD_add_response_header(made, "Connection", "close") }
        core.watch(peer, after: core.settings.paceInterval)
        return MHD_queue_response(connection, UInt32(clamping: response.status.rawValue), made) == .YES
    }

    private func make(_ body: HTTPBody) -> OpaquePointer? {
        switch body.content {
        case .bytes(let bytes) where bytes.count > Self.copiedLimit: return makeShared(bytes)
        case .bytes(let bytes):
            return bytes.withUnsafeBytes {
                MHD_create_response_from_buffer(
                    $0.count, UnsafeMutableRawPointer(mutating: $0.baseAddress), .RESPMEM_MUST_COPY)
            }
        case .file(let range) where range.length > 0 && (core.settings.isSecure || range.isCopied):
            return makeFile(range)
        case .file(let range) where range.length > 0:
            // libmicrohttpd closes the descriptor that it is given.
            let copy = fcntl(range.descriptor, F_DUPFD_CLOEXEC, 0)
            guard copy >= 0 else { return nil }
            let made = MHD_create_response_from_fd_at_offset64(UInt64(range.length), copy, UInt64(range.offset))
            if made == nil { close(copy) }
            return made
        case .file: return MHD_create_response_from_buffer(0, nil, .RESPMEM_PERSISTENT)
        case .omitted(let length): return makeStream(length: length)
        case .stream(let length, _): return makeStream(length: length)
        }
    }

    /// The length in bytes up to which a body is copied. Copying a longer one would cost as much as
    /// sending it.
    private static let copiedLimit = 16 << 10

    /// Creates a response that refers to the array's storage and keeps the array until the response
    /// is sent.
    ///
    /// The storage does not move while no other code changes the array.
    private func makeShared(_ bytes: [UInt8]) -> OpaquePointer? {
        let kept = Unmanaged.passRetained(KeptBytes(bytes))
        let made = bytes.withUnsafeBytes {
            MHD_create_response_from_buffer_with_free_callback_cls(
                $0.count, UnsafeMutableRawPointer(mutating: $0.baseAddress),
                { kept in if let kept { Unmanaged<KeptBytes>.fromOpaque(kept).release() } }, kept.toOpaque())
        }
        if made == nil { kept.release() }
        return made
    }

    private final class KeptBytes {
        private let bytes: [UInt8]

        init(_ bytes: [UInt8]) { self.bytes = bytes }
    }

    /// Creates a response that reads a file into a buffer, for encryption or because its bytes may
    /// change.
    ///
    /// libmicrohttpd's own file response reads only 4 KiB at a time.
    private func makeFile(_ range: FileRange) -> OpaquePointer? {
        let context = Unmanaged.passRetained(range)
        let made = MHD_create_response_from_callback(
            UInt64(range.length), min(range.length, 64 << 10),
            { context, position, buffer, capacity in
                guard let context, let buffer else { return -2 }
                let range = Unmanaged<FileRange>.fromOpaque(context).takeUnretainedValue()
                let count = range.read(
                    at: Int(position), into: UnsafeMutableRawBufferPointer(start: buffer, count: capacity))
                // The file is shorter than announced: fail, so that the client sees that the body
                // is incomplete.
                return count > 0 ? count : -2
            }, context.toOpaque(),
            { context in
                if let context { Unmanaged<FileRange>.fromOpaque(context).release() }
            })
        if made == nil { context.release() }
        return made
    }

    private func makeStream(length: Int?) -> OpaquePointer? {
        let size = length.map { UInt64($0) } ?? UInt64.max
        let context = Unmanaged.passRetained(self)
        let made = MHD_create_response_from_callback(
            // libmicrohttpd refuses a block size of 0, even for an empty body.
            size, max(1, min(length ?? 16 << 10, Self.highWater)),
            { context, _, buffer, capacity in
                guard let context, let buffer else { return -2 }
                let exchange = Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
                return exchange.fill(UnsafeMutableRawBufferPointer(start: buffer, count: capacity))
            }, context.toOpaque(),
            { context in
                if let context { Unmanaged<Exchange>.fromOpaque(context).release() }
            })
        if made == nil { context.release() }
        return made
    }

    /// Fills libmicrohttpd's buffer with the next part of the response.
    ///
    /// - Returns: The number of bytes, 0 after suspending the connection, -1 at the end
    ///   (`MHD_CONTENT_READER_END_OF_STREAM`), or -2 to break off
    ///   (`MHD_CONTENT_READER_END_WITH_ERROR`).
    private func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        let (count, writer) = state.withLock { state -> (Int, CheckedContinuation<Bool, Never>?) in
            if state.isAborted { return (-2, nil) }
            var filled = 0
            while filled < buffer.count, let chunk = state.outgoing.first {
                let rest = chunk.count - state.outgoingPosition
                let count = min(buffer.count - filled, rest)
                chunk.withUnsafeBytes { bytes in
                    let part = bytes[state.outgoingPosition..<state.outgoingPosition + count]
                    UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]).copyMemory(from: .init(rebasing: part))
                }
                filled += count
                state.outgoingPosition += count
                if count == rest {
                    state.outgoing.removeFirst()
                    state.outgoingPosition = 0
                }
            }
            state.outgoingBytes -= filled
            if filled == 0 {
                if state.outgoingHasFailed { return (-2, nil) }
                if state.outgoingHasEnded { return (-1, nil) }
                suspend(&state)
            }
            guard state.outgoingBytes < Self.highWater else { return (filled, nil) }
            defer { state.writer = nil }
            return (filled, state.writer)
        }
        writer?.resume(returning: true)
        return count
    }

    /// Queues a chunk, and waits while the queue is full.
    ///
    /// - Returns: False once the response can no longer be sent.
    private func offer(_ chunk: [UInt8]) async -> Bool {
        guard !chunk.isEmpty else { return true }
        return await withCheckedContinuation { continuation in
            let answer: Bool? = state.withLock { state in
                if state.stage == .detached || state.isAborted { return false }
                state.outgoing.append(chunk)
                state.outgoingBytes += chunk.count
                if state.stage == .answered { resume(&state) }
                if state.outgoingBytes < Self.highWater { return true }
                state.writer = continuation
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    private func endOutgoing(failed: Bool) {
        state.withLock { state in
            guard state.stage != .detached else { return }
            state.outgoingHasEnded = true
            state.outgoingHasFailed = failed
            if state.stage == .answered { resume(&state) }
        }
    }
}
