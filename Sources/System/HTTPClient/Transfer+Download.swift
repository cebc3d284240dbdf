import CCurl
import HTTPMessages
import Synchronization

/// The response on its way from libcurl.
extension Transfer {
    /// libcurl's header callback, once for each line; false ends the transfer.
    func takeHeaderLine(_ bytes: UnsafeRawBufferPointer) -> Bool {
        headerBytes += bytes.count
        guard headerBytes <= engine.configuration.headerLimit else {
            let limit = engine.configuration.headerLimit
            finish(HTTPError(.headersTooLarge, "\(origin) sent more than \(limit) bytes of header fields."))
            return false
        }
        // What comes after the body are trailers, which nobody here asks for.
        if isHeadComplete { return true }
        let line = bytes.prefix { $0 != 0x0D && $0 != 0x0A }
        if line.starts(with: "HTTP/".utf8) {
            let code = line.split(separator: 0x20, maxSplits: 2).dropFirst().first
            status = code.flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
            headers = HTTPHeaders()
        } else if line.isEmpty {
            // 1xx heads precede the real one.
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
            // `finish` hands it over, however the rest comes to its end.
            if request.prefersWhole, expected < Self.highWater { return nil }
            defer { state.head = nil }
            return state.head
        }
        waiting?.resume(returning: result)
    }

    /// libcurl's write callback; false ends the transfer.
    func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if bytes.count > expected - downloaded, state.withLock({ $0.collectsRest }) {
            finish(HTTPError(.protocolViolation, "\(origin) sent a longer body than it had announced."))
            return false
        }
        defer { downloaded += bytes.count }
        // More has come than was announced: who waits for the whole would never read, nor the rest ever come.
        var waiting: CheckedContinuation<(HTTPStatus, HTTPHeaders), any Error>?
        let (isFirst, mustPause, goesOn) = state.withLock { state in
            if state.end != nil { return (false, false, false) }
            let isFirst = state.received.isEmpty && !state.collectsRest
            // libcurl hands on what it read in pieces of 16 KiB.
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
        // At once, as libcurl otherwise goes on reading for up to a hundred buffers.
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
