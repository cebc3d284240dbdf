import CCurl
import HTTPMessages
import Synchronization

/// Passing the request's body to libcurl.
extension Transfer {
    /// Starts a task that reads a streamed body and ends with the transfer.
    func startPump(_ next: @escaping @Sendable () async throws -> [UInt8]?) {
        let pump = Task {
            do {
                while let chunk = try await next() {
                    guard await offer(chunk) else { return }
                }
                endOutgoing()
            } catch {
                if finish(error) { engine.cancel(self) }
            }
        }
        let isLate = state.withLock { state in
            if state.end == nil { state.pump = pump }
            return state.end != nil
        }
        if isLate { pump.cancel() }
    }

    /// Queues a chunk and waits while the queue is full.
    ///
    /// - Returns: False once the transfer has ended.
    private func offer(_ chunk: [UInt8]) async -> Bool {
        guard !chunk.isEmpty else { return true }
        let isWaited = state.withLock { state in
            state.outgoing.append(chunk)
            state.outgoingBytes += chunk.count
            return state.sendingIsPaused
        }
        if isWaited { engine.unpause(self) }
        return await withCheckedContinuation { continuation in
            let answer: Bool? = state.withLock { state in
                if state.end != nil { return false }
                if state.outgoingBytes < Self.highWater { return true }
                state.writer = continuation
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    private func endOutgoing() {
        let isWaited = state.withLock { state in
            state.outgoingHasEnded = true
            return state.sendingIsPaused
        }
        if isWaited { engine.unpause(self) }
    }

    /// Handles libcurl's read callback.
    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        switch request.body.content {
        case .omitted: return 0
        case .bytes(let bytes):
            let count = min(buffer.count, bytes.count - uploaded)
            guard count > 0 else { return 0 }
            bytes.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0[uploaded..<uploaded + count])) }
            uploaded += count
            return count
        case .file(let range):
            let count = range.read(at: uploaded, into: buffer)
            guard count >= 0 else { return Int(CURL_READFUNC_ABORT) }
            uploaded += count
            return count
        case .stream: return fillFromQueue(buffer)
        }
    }

    private func fillFromQueue(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        let (count, writer) = state.withLock { state -> (Int, CheckedContinuation<Bool, Never>?) in
            var filled = 0
            while filled < buffer.count, let chunk = state.outgoing.first {
                let rest = chunk.count - uploaded
                let count = min(buffer.count - filled, rest)
                chunk.withUnsafeBytes { bytes in
                    UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
                        .copyMemory(from: .init(rebasing: bytes[uploaded..<uploaded + count]))
                }
                filled += count
                uploaded += count
                if count == rest {
                    state.outgoing.removeFirst()
                    uploaded = 0
                }
            }
            state.outgoingBytes -= filled
            if filled == 0, !state.outgoingHasEnded {
                state.sendingIsPaused = true
                return (Int(CURL_READFUNC_PAUSE), nil)
            }
            guard state.outgoingBytes < Self.highWater else { return (filled, nil) }
            defer { state.writer = nil }
            return (filled, state.writer)
        }
        writer?.resume(returning: true)
        return count
    }

    /// Handles libcurl's seek callback: a kept connection was dead and the body must be sent again.
    func rewind(to position: Int) -> Bool {
        if case .stream = request.body.content { return false }
        uploaded = position
        return true
    }
}
