import CNGHTTP2
import GRPCProtocol
import Glibc
import SystemIO

/// A connection to a server: a socket, and the nghttp2 session that speaks HTTP/2 on it.
///
/// `@unchecked Sendable`: all methods are called on the loop's thread.
final class ClientConnection: NetworkSource, @unchecked Sendable {
    private enum Phase {
        case proxy
        case handshake
        /// Waiting for the server's first frame.
        case greeting
        case connected
        case closed
    }

    let descriptor: Int32
    private var http2: HTTP2Session?
    private(set) var session: OpaquePointer?
    var streams: [Int32: ClientStream] = [:]
    let configuration: GRPCChannelConfiguration
    private(set) weak var channel: ChannelCore?
    /// Whether the connection takes no more calls, because the server announced its end or the
    /// stream numbers are used up.
    var isLeaving = false
    private let shared: ClientLoop
    private let authority: String
    private let userAgent: String
    private let isSecure: Bool
    private let socket: SocketStream
    private let deadline: ContinuousClock.Instant
    private var phase: Phase
    private var proxy: ProxyRequest?
    private var output: [UInt8] = []
    private var sent = 0
    private var isSending = false
    private var isWatchingForWrites = false
    private var heard = ContinuousClock.now
    private var pinged: ContinuousClock.Instant?

    private static let readSize = 64 << 10
    /// The number of reads after which the received bytes are processed and other connections get
    /// their turn. The loop reports remaining bytes at once.
    private static let readsInARow = 4
    /// The number of bytes that may wait for the socket.
    private static let outputLimit = 256 << 10
    /// The size of the buffer that a connection keeps while it has nothing to send.
    private static let keptOutput = 1 << 10

    /// Creates a connection that owns the connected descriptor.
    ///
    /// - Parameter limit: The time limit for the server's first frame.
    init(
        _ descriptor: Int32, of channel: ChannelCore, on shared: ClientLoop, tls: ClientTLS?, proxy: ProxyRequest?,
        limit: Duration
    ) {
        self.descriptor = descriptor
        self.channel = channel
        self.shared = shared
        self.proxy = proxy
        configuration = channel.configuration
        authority = channel.authority
        userAgent = channel.userAgent
        isSecure = tls != nil
        let session = tls?.session()
        socket = SocketStream(descriptor, session: session)
        deadline = .now + limit
        phase = proxy != nil ? .proxy : isSecure ? .handshake : .greeting
        hasTLSProblem = isSecure && session == nil
    }

    /// Whether TLS is impossible, because no certificate can be for the server's name.
    private let hasTLSProblem: Bool

    var loop: NetworkLoop { shared.loop }

    func open() {
        guard !hasTLSProblem else { return close(unavailable("its name cannot stand in a certificate")) }
        guard loop.watch(self) else { return close(unavailable("the system has no room for another connection")) }
        loop.check(at: deadline)
        switch phase {
        case .proxy:
            output = proxy?.bytes ?? []
            sendSoon()
        case .handshake: shakeHands()
        default: openSession()
        }
    }

    private func unavailable(_ reason: String) -> GRPCStatus {
        GRPCStatus(.unavailable, "Cannot connect to \(authority): \(reason).")
    }

    // MARK: Before HTTP/2

    private func readFromProxy() {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            // Peek, and consume only the proxy's response: the bytes after it belong to the server.
            let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_PEEK))
            guard count > 0 else {
                if count < 0, errno == EAGAIN || errno == EINTR { return }
                return close(unavailable("the proxy has closed the connection"))
            }
            guard let (used, outcome) = proxy?.receive(UnsafeRawBufferPointer(rebasing: buffer[..<count])),
                recv(descriptor, buffer.baseAddress, used, 0) == used
            else { return close(unavailable("the proxy has closed the connection")) }
            switch outcome {
            case .unfinished: break
            case .refused(let reason): close(unavailable("the proxy refuses: \(reason)"))
            case .open:
                proxy = nil
                phase = isSecure ? .handshake : .greeting
                if isSecure { shakeHands() } else { openSession() }
            }
        }
    }

    private func shakeHands() {
        switch socket.shakeHands() {
        case .later: watch(forWrites: socket.wantsToWrite)
        case .ended: close(unavailable(socket.handshakeProblem))
        case .bytes:
            guard socket.isHTTP2 else { return close(unavailable("it does not speak HTTP/2")) }
            phase = .greeting
            openSession()
        }
    }

    private func openSession() {
        http2 = HTTP2Session(.client, of: self)
        session = http2?.pointer
        guard let session else { return close(unavailable("memory is short")) }
        let settings = [
            nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue), value: UInt32(Self.streamWindow)),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue),
                value: UInt32(clamping: configuration.maximumMetadataSize)),
        ]
        let none = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        guard nghttp2_submit_settings(session, none, settings, settings.count) == 0,
            nghttp2_session_set_local_window_size(session, none, 0, Self.connectionWindow) == 0
        else { return close(unavailable("memory is short")) }
        sendSoon()
    }

    /// The flow-control windows in bytes: what a server may send ahead of the reader of one call,
    /// and what may be in flight on a connection.
    ///
    /// The connection's window does not depend on readers, so that calls do not wait for each
    /// other.
    private static let streamWindow: Int32 = 1 << 20
    private static let connectionWindow: Int32 = 4 << 20

    /// Records the server's first HTTP/2 frame.
    func greeted() {
        guard phase == .greeting else { return }
        phase = .connected
        channel?.connected(self)
    }

    // MARK: Socket

    func ready(toRead: Bool, toWrite: Bool) {
        switch phase {
        case .closed: return
        case .handshake: return shakeHands()
        case .proxy: if toRead { readFromProxy() }
        case .greeting, .connected: if toRead { read() }
        }
        sendSoon()
    }

    private func read() {
        heard = .now
        if pinged != nil {
            pinged = nil
            checkWhenSilent()
        }
        withUnsafeTemporaryAllocation(byteCount: Self.readSize, alignment: 1) { buffer in
            for _ in 0..<Self.readsInARow {
                guard let session else { return }
                switch socket.read(into: buffer) {
                case .later: return
                case .ended: return close(lost("The server has closed the connection."))
                case .bytes(let count):
                    let bytes = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
                    let code = nghttp2_session_mem_recv(session, bytes, count)
                    guard code == count else {
                        let reason = String(cString: nghttp2_strerror(Int32(clamping: code)))
                        return close(lost("The server's answer is not HTTP/2: \(reason)."))
                    }
                    // A short read means that the socket is empty. With TLS that is unknown.
                    if count < buffer.count, !isSecure { return }
                }
            }
        }
    }

    /// Returns the status of calls whose connection is lost or could not be established.
    private func lost(_ reason: String) -> GRPCStatus {
        phase == .connected ? GRPCStatus(.unavailable, reason) : unavailable(reason)
    }

    /// Schedules nghttp2's output to be sent together with the rest of this iteration of the loop.
    func sendSoon() {
        guard !isSending, phase != .closed else { return }
        isSending = true
        loop.sendSoon(self)
    }

    func send() {
        isSending = false
        guard phase != .closed, phase != .handshake else { return }
        while true {
            while output.count - sent < Self.outputLimit, let session {
                var bytes: UnsafePointer<UInt8>?
                let count = nghttp2_session_mem_send(session, &bytes)
                guard count >= 0 else { return close(lost("The connection has failed.")) }
                guard count > 0, let bytes else { break }
                output += UnsafeBufferPointer(start: bytes, count: count)
            }
            guard sent < output.count else { break }
            let outcome = output.withUnsafeBytes { write(UnsafeRawBufferPointer(rebasing: $0[sent...])) }
            switch outcome {
            case .ended: return close(lost("The server has closed the connection."))
            case .later: return watch(forWrites: true)
            case .bytes(let count): sent += count
            }
            if sent == output.count {
                output.removeAll(keepingCapacity: output.capacity <= Self.keptOutput)
                sent = 0
            } else if sent >= Self.outputLimit {
                // If the server reads as slowly as calls write, the buffer never becomes empty.
                output.removeFirst(sent)
                sent = 0
            }
        }
        watch(forWrites: false)
        if let session, nghttp2_session_want_read(session) == 0, nghttp2_session_want_write(session) == 0 {
            close(lost("The server has ended the connection."))
        }
    }

    /// Writes to the socket; to a proxy without TLS.
    private func write(_ bytes: UnsafeRawBufferPointer) -> SocketStream.Outcome {
        phase == .proxy ? SocketStream.send(bytes, to: descriptor) : socket.write(bytes)
    }

    private func watch(forWrites isWanted: Bool) {
        guard phase != .closed, isWanted != isWatchingForWrites else { return }
        isWatchingForWrites = isWanted
        if !loop.watch(self, forWrites: isWanted) { close(lost("The system does not watch the connection.")) }
    }

    /// Closes the connection and ends all calls. Must not be called from inside nghttp2.
    func close(_ status: GRPCStatus) {
        guard phase != .closed else { return }
        let wasConnected = phase == .connected
        phase = .closed
        loop.forget(self)
        _ = Glibc.close(descriptor)
        for stream in Array(streams.values) {
            remove(stream)
            stream.call.end(status)
        }
        http2?.close()
        session = nil
        channel?.closed(self, wasConnected: wasConnected, because: status)
    }

    // MARK: Time

    func check(at now: ContinuousClock.Instant) {
        guard phase != .closed else { return }
        if phase != .connected {
            guard now < deadline else { return close(unavailable("it does not answer")) }
            loop.check(at: deadline)
        }
        for stream in Array(streams.values) {
            guard let deadline = stream.call.deadline else { continue }
            if deadline <= now {
                stream.call.end(ClientCallCore.late, discardingMessages: true)
                abandon(stream)
            } else {
                loop.check(at: deadline)
            }
        }
        keepAlive(at: now)
    }

    /// Sends a ping to a silent server, and closes the connection if it does not answer.
    private func keepAlive(at now: ContinuousClock.Instant) {
        guard phase == .connected, let session, let keepalive = channel?.keepalive else { return }
        if let pinged {
            guard now - pinged < keepalive.timeout else {
                return close(GRPCStatus(.unavailable, "The server does not answer any more."))
            }
            return loop.check(at: pinged + keepalive.timeout)
        }
        guard !streams.isEmpty || configuration.keepsAliveWithoutCalls else { return }
        guard now - heard >= keepalive.time else { return loop.check(at: heard + keepalive.time) }
        pinged = now
        nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
        loop.check(at: now + keepalive.timeout)
        sendSoon()
    }

    private func checkWhenSilent() {
        if let keepalive = channel?.keepalive { loop.check(at: heard + keepalive.time) }
    }

    // MARK: Calls

    /// Starts a call with its first batch.
    func begin(_ call: ClientCallCore, _ batch: Outgoing) {
        guard let session, !isLeaving else { return call.end(lost("The connection was closed.")) }
        let timeout = call.deadline.map { $0 - .now }
        let fields = HeaderFields.request(
            call.path, authority: authority, isSecure: isSecure, userAgent: userAgent, timeout: timeout,
            batch.headers ?? [:])
        var provider = provider
        let id = fields.withFields { nghttp2_submit_request(session, nil, $0, $1, &provider, nil) }
        guard id > 0 else {
            guard id == NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE.rawValue, let channel else {
                return call.end(GRPCStatus(.internal, "The call cannot be sent."))
            }
            leave()
            return channel.open(call, batch)
        }
        let stream = ClientStream(id, call, configuration: configuration)
        streams[id] = stream
        call.place = (self, stream)
        if let deadline = call.deadline { loop.check(at: deadline) }
        if streams.count == 1 { checkWhenSilent() }
        start(batch, on: stream)
    }

    /// Takes a batch of a call. When it has been sent, the call is asked for the next one.
    func start(_ batch: Outgoing, on stream: ClientStream) {
        guard let session, streams[stream.id] === stream else { return }
        stream.begin(batch)
        if stream.isBatchSent { endBatch(of: stream) }
        if stream.isStalled {
            stream.isStalled = false
            nghttp2_session_resume_data(session, stream.id)
        }
        sendSoon()
    }

    /// Ends the current batch, and asks the call for the next one.
    func endBatch(of stream: ClientStream) {
        stream.endBatch()
        stream.call.sent()
    }

    /// Lets the server send more, after the call's reader has made room.
    func resumeReceiving(_ stream: ClientStream) {
        guard let session, stream.withheld > 0 else { return }
        nghttp2_session_consume_stream(session, stream.id, stream.withheld)
        stream.withheld = 0
        sendSoon()
    }

    /// Removes a call that has ended on this side, and resets its stream.
    func abandon(_ stream: ClientStream) {
        guard let session, streams[stream.id] === stream else { return }
        remove(stream)
        nghttp2_submit_rst_stream(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream.id, NGHTTP2_CANCEL.rawValue)
        sendSoon()
    }

    func remove(_ stream: ClientStream) {
        streams[stream.id] = nil
        stream.call.place = nil
    }

    /// Stops taking calls. Calls that the server has not seen move to another connection; the
    /// others continue.
    func leave() {
        guard !isLeaving, let channel else { return }
        isLeaving = true
        let unsent = streams.values.filter { !$0.hasBegun && $0.batch?.headers != nil }.sorted { $0.id < $1.id }
        for stream in unsent { abandon(stream) }
        channel.detach(self)
        for stream in unsent { if let batch = stream.batch { channel.open(stream.call, batch) } }
    }
}
