import HTTPMessages
import SystemIO

/// One request and its response on the daemon's Unix socket.
///
/// HTTP/1.1 on a connection of its own, without libcurl, so that `ferry` needs no library but libc.
/// All errors are `ControlError` or `CancellationError`. Cancellation, and release of the response,
/// close the connection.
actor ControlConnection {
    private let socket: FileDescriptor
    private var decoder = HTTPResponseDecoder()
    /// The bytes of the body that came with the head.
    private var early: [UInt8] = []
    /// Whether a byte of the response has come.
    private var hasAnswered = false

    private init(socketPath: String) throws(SystemError) {
        socket = try UnixSocket.connect(socketPath, timeout: .seconds(5))
        try socket.setNonBlocking(true)
    }

    /// Sends a request and returns its response, whose body is read as it comes.
    ///
    /// There is no limit of time, because signing in and waiting for a sync take as long as the
    /// network needs; the daemon limits them. A request that only reads is sent once more if the daemon
    /// ends before its answer begins, as it does when it starts again after an upgrade (RFC 9110, 9.2.2).
    static func exchange(
        _ method: String, _ target: String, headers: HTTPHeaders, body: [UInt8], socketPath: String
    ) async throws -> HTTPResponse {
        var head = "\(method) \(target) HTTP/1.1\r\nHost: ferryd\r\nConnection: close\r\n"
        for field in headers { head += "\(field.name): \(field.value)\r\n" }
        head += "Content-Length: \(body.count)\r\n\r\n"
        let request = Array(head.utf8) + body
        let connection = try open(socketPath)
        do { return try await connection.response(to: request) } catch let error as ControlError {
            guard method == "GET", error.code == .notRunning, await !connection.hasAnswered else { throw error }
            return try await open(socketPath).response(to: request)
        }
    }

    private static func open(_ socketPath: String) throws(ControlError) -> ControlConnection {
        do { return try ControlConnection(socketPath: socketPath) } catch {
            throw ControlError(
                .notRunning, "No daemon answers on \(socketPath).",
                hint: "Start it: systemctl --user start ferryd, or run ferryd.", isRetryable: true,
                causes: [error.message])
        }
    }

    private func response(to request: [UInt8]) async throws -> HTTPResponse {
        try await send(request)
        while decoder.status == nil {
            guard let bytes = try await receive() else { throw Self.lost() }
            early += bytes
        }
        guard let status = decoder.status else { throw Self.lost() }
        let body = HTTPBody(.stream(length: decoder.headers.contentLength) { try await self.nextOfBody() })
        return HTTPResponse(status, headers: decoder.headers, body: body)
    }

    /// Returns the next bytes of the body, at least one; nil at the end.
    private func nextOfBody() async throws -> [UInt8]? {
        if !early.isEmpty {
            defer { early = [] }
            return early
        }
        while let bytes = try await receive() { if !bytes.isEmpty { return bytes } }
        return nil
    }

    /// Sends all bytes. A daemon that refuses a request closes its end before it has read all of it;
    /// its response says why.
    private func send(_ bytes: [UInt8]) async throws {
        do {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = try UnixSocket.send(rest, to: socket)
                rest = rest.dropFirst(count)
                if count == 0 { try await Poller.writable(socket) }
            }
        } catch let error as SystemError where error.code != .closed {
            throw Self.lost(error)
        } catch is SystemError {}
    }

    /// Returns the next bytes of the body, which are none while the head is read; nil at the end.
    private func receive() async throws -> [UInt8]? {
        do {
            guard !decoder.isComplete else { return nil }
            guard let bytes = try UnixSocket.receive(upTo: 256 << 10, from: socket) else {
                try await Poller.readable(socket)
                return []
            }
            guard !bytes.isEmpty else {
                try decoder.finish()
                return nil
            }
            hasAnswered = true
            return try decoder.decode(bytes)
        } catch let error as HTTPError where error.code == .connectionLost {
            throw Self.lost()
        } catch let error as HTTPError {
            throw ControlError.unreadable(error)
        } catch let error as SystemError {
            throw Self.lost(error)
        }
    }

    private static func lost(_ cause: SystemError? = nil) -> ControlError {
        ControlError(
            .notRunning, "The daemon ended before its answer was complete.",
            hint: "'systemctl --user status ferryd' shows why. What it had done is kept.", isRetryable: true,
            causes: cause.map { [$0.message] } ?? [])
    }
}
