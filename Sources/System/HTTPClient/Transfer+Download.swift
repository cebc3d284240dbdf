import CCurl
import HTTPMessages
import Synchronization

/// Receiving the response from libcurl.
extension Transfer {
    /// Handles libcurl's header callback, which comes once for each line.
    ///
    /// - Returns: False to end the transfer.
    func takeHeaderLine(_ bytes: UnsafeRawBufferPointer) -> Bool {
        headerBytes += bytes.count
        guard headerBytes <= engine.configuration.headerLimit else {
            let limit = engine.configuration.headerLimit
            finish(HTTPError(.headersTooLarge, "\(origin) sent more than \(limit) bytes of header fields."))
            return false
        }
        // Fields after the body are trailers, which no caller reads.
        if isHeadComplete { return true }
        let line = bytes.prefix { $0 != 0x0D && $0 != 0x0A }
        if line.starts(with: "HTTP/".utf8) {
            let code = line.split(separator: 0x20, maxSplits: 2).dropFirst().first
            status = code.flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
            headers = HTTPHeaders()
        } else if line.isEmpty {
            // 1xx responses precede the final one.
            if status >= 200 { completeHead() }
        } else if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
            let value = line[(colon + 1)...].trimmingSpaces()
            headers.add(String(decoding: line[..<colon], as: UTF8.self), String(decoding: value, as: UTF8.self))
        }
        return true
    }

    private func completeHead() {
        isHeadComplete = true
        expected = headers.contentLength ?? .max
        let result = (HTTPStatus(rawValue: status), headers)
        let waiting = state.withLock { state in
            guard state.headResult == nil else {
                return nil as CheckedContinuation<(HTTPStatus, HTTPHeaders), any Error>?
            }
            state.headResult = .success(result)
            // `finish` resumes the caller, no matter how the transfer ends.
            if request.prefersWhole, expected < Self.highWater { return nil }
            defer { state.head = nil }
            return state.head
        }
        waiting?.resume(returning: result)
    }

    /// Handles libcurl's write callback.
    ///
    /// - Returns: False to end the transfer.
    func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if bytes.count > expected - downloaded, state.withLock({ $0.collectsRest }) {
            finish(HTTPError(.protocolViolation, "\(origin) sent a longer body than it had announced."))
            return false
        }
        defer { downloaded += bytes.count }
        // More has arrived than was announced. A caller that waits for the whole response would
        // never start to read, so the transfer would stay paused.
        var waiting: CheckedContinuation<(HTTPStatus, HTTPHeaders), any Error>?
        let (isFirst, mustPause, goesOn) = state.withLock { state in
            if state.end != nil { return (false, false, false) }
            let isFirst = state.received.isEmpty && !state.collectsRest
            // libcurl delivers what it read in pieces of 16 KiB.
            if isFirst { state.received.reserveCapacity(min(EasyOptions.bufferSize, expected - downloaded)) }
            state.received.append(contentsOf: bytes)
            let mustPause =
                !state.receivingIsPaused && !state.collectsRest && state.received.count >= Self.highWater
            if mustPause {
                state.receivingIsPaused = true
                swap(&waiting, &state.head)
            }
            return (isFirst, mustPause, true)
        }
        waiting?.resume(returning: (HTTPStatus(rawValue: status), headers))
        if isFirst { engine.touched.append(self) }
        // Pause at once; otherwise libcurl reads up to a hundred more buffers.
        if mustPause { unpause() }
        return goesOn
    }
}

extension Slice where Base == UnsafeRawBufferPointer {
    fileprivate func trimmingSpaces() -> Slice<Base> {
        var rest = self.drop { $0 == 0x20 || $0 == 0x09 }
        while let last = rest.last, last == 0x20 || last == 0x09 { rest.removeLast() }
        return rest
    }
}
