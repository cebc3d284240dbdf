import CNGHTTP2
import GRPCProtocol
import Glibc
import Synchronization
import SystemIO

/// A client's connection: a socket, and the nghttp2 session that speaks HTTP/2 on it.
///
/// `@unchecked Sendable`: everything is called on the loop's thread, except where it says so.
final class ServerConnection: NetworkSource, CallTransport, @unchecked Sendable {
    let descriptor: Int32
    let id: Int
    let peer: GRPCPeer
    let server: ServerCore
    let settings: ServerSettings
    let loop: NetworkLoop
    private var http2: HTTP2Session?
    private(set) var session: OpaquePointer?
    var streams: [Int32: ServerStream] = [:]
    var pings: PingGuard
    /// The bytes of incomplete messages of all streams.
    var unfinished = 0
    /// The bytes of answers of all streams that the client has not read.
    let unread = ByteCount()
    /// The usage of the last call's caller, because consecutive calls usually have the same caller.
    var usage: CallerUsage?
    /// The account that the connection counts for.
    var account: CallerUsage?
    private let signedIn: Atomic<Bool>
    private let openStreams = Atomic(0)
    private let socket: SocketStream
    var output: [UInt8] = []
    /// The place in the output of the frame whose header nghttp2 has not provided yet.
    var openFrame = 0
    private var sent = 0
    private var isSending = false
    private var isWatchingForWrites = false
    private var isClosed = false
    private let opened = ContinuousClock.now
    private var heard = ContinuousClock.now
    private var pinged: ContinuousClock.Instant?
    /// The time since which the client has been notified that the server stops.
    private var leaving: ContinuousClock.Instant?
    private var isCancelled = false
    /// Whether the client's first bytes will decide about its protocol. Nothing is sent before.
    private var isUndecided: Bool
    /// Whether the client has sent its first HTTP/2 frame.
    var isGreeted = false

    private static let greetingLimit = Duration.seconds(20)
    /// The time limit for the client's answer to the notice that the server stops.
    private static let noticeLimit = Duration.seconds(1)
    private static let readSize = 64 << 10
    /// The number of reads after which the received bytes are processed and other connections get
    /// their turn. The loop reports remaining bytes at once. A read takes everything that TLS has
    /// decrypted.
    private static let readsInARow = 4
    /// The number of bytes that may wait for the socket.
    private static let outputLimit = 256 << 10
    /// The size of the buffer that a connection keeps while it has nothing to send.
    private static let keptOutput = 1 << 10

    /// Creates a connection that owns the descriptor.
    init(_ descriptor: Int32, id: Int, peer: GRPCPeer, server: ServerCore, loop: NetworkLoop) {
        self.descriptor = descriptor
        self.id = id
        self.peer = peer
        self.server = server
        settings = server.settings
        signedIn = Atomic(settings.configuration.authorize == nil)
        self.loop = loop
        isUndecided = settings.tls == nil && settings.configuration.handOver != nil
        pings = PingGuard(interval: settings.configuration.minimumPingInterval)
        socket = SocketStream(descriptor, session: settings.tls?.session())
    }

    func open() {
        guard loop.watch(self), openSession() else { return close() }
        loop.check(at: .now + checkInterval)
        sendSoon()
    }

    private func openSession() -> Bool {
        http2 = HTTP2Session(.server, of: self)
        session = http2?.pointer
        guard let session else { return false }
        let settings = [
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: streamLimit),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue), value: UInt32(Self.streamWindow)),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue),
                value: UInt32(clamping: settings.configuration.maximumMetadataSize)),
        ]
        return nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count) == 0
            && nghttp2_session_set_local_window_size(
                session, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, Self.connectionWindow) == 0
    }

    /// The flow-control windows in bytes: what a client may send ahead on one call, and on all
    /// calls of a connection.
    private static let streamWindow: Int32 = 256 << 10
    private static let connectionWindow: Int32 = 4 << 20

    private var streamLimit: UInt32 {
        let configuration = settings.configuration
        let limit = configuration.maximumStreamsPerConnection
        return UInt32(clamping: isSignedIn ? limit : min(limit, configuration.maximumStreamsBeforeSignIn))
    }

    func handlerStarted() { server.handlerStarted() }

    func handlerEnded() { server.handlerEnded() }

    // MARK: Limits

    var isSignedIn: Bool { signedIn.load(ordering: .relaxed) }

    /// Raises the limit of open calls after a call was authorized.
    func signIn() {
        guard !isSignedIn, let session else { return }
        signedIn.store(true, ordering: .relaxed)
        let settings = [
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: streamLimit)
        ]
        nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count)
        sendSoon()
    }

    func countStreams() { openStreams.store(streams.count, ordering: .relaxed) }

    /// The use of the connection, and the time since which it has been open. Safe on any thread.
    var use: (ConnectionLimiter<Int>.Use, ContinuousClock.Instant) {
        guard isSignedIn else { return (.unproven, opened) }
        return (openStreams.load(ordering: .relaxed) == 0 ? .idle : .busy, opened)
    }

    /// Closes the connection to make room for another one, or because of abuse. A client that reads
    /// gets the reason.
    func giveUp() {
        guard !isClosed, let session else { return }
        nghttp2_session_terminate_session(session, NGHTTP2_ENHANCE_YOUR_CALM.rawValue)
        send()
        close()
    }

    // MARK: Socket

    func ready(toRead: Bool, toWrite: Bool) {
        if toRead { read() }
        if toWrite || toRead { sendSoon() }
    }

    private func read() {
        if isUndecided {
            isUndecided = false
            guard speaksHTTP2() else { return handOver() }
        }
        heard = .now
        pinged = nil
        withUnsafeTemporaryAllocation(byteCount: Self.readSize, alignment: 1) { buffer in
            for _ in 0..<Self.readsInARow {
                guard !isClosed, let session else { return }
                switch socket.read(into: buffer) {
                case .later: return
                case .ended: return close()
                case .bytes(let count):
                    let bytes = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
                    guard nghttp2_session_mem_recv(session, bytes, count) == count else { return close() }
                    // Less than there was room for: nothing is left, but inside of TLS that is not known.
                    if count < buffer.count, settings.tls == nil { return }
                }
            }
        }
    }

    /// Whether the client's first bytes, which stay unread, begin HTTP/2's preface. No method of
    /// HTTP/1.1 begins with its first three bytes.
    private func speaksHTTP2() -> Bool {
        var first: (UInt8, UInt8, UInt8) = (0, 0, 0)
        let count = withUnsafeMutableBytes(of: &first) { recv(descriptor, $0.baseAddress, $0.count, Int32(MSG_PEEK)) }
        let preface: [UInt8] = Array("PRI".utf8)
        return count <= 0 || [first.0, first.1, first.2].prefix(count) == preface.prefix(count)
    }

    /// Leaves the socket, of which nothing has been read, to the server for other protocols.
    private func handOver() {
        guard !isClosed else { return }
        loop.forget(self)
        release()
        settings.configuration.handOver?(descriptor)
    }

    /// Schedules nghttp2's output to be sent together with the rest of this iteration of the loop.
    func sendSoon() {
        guard !isSending else { return }
        isSending = true
        loop.sendSoon(self)
    }

    /// Whether more may be added to the output.
    var hasRoom: Bool { output.count - sent < Self.outputLimit }

    func send() {
        isSending = false
        guard !isClosed, !isUndecided, let session else { return }
        while true {
            while hasRoom {
                var bytes: UnsafePointer<UInt8>?
                let count = nghttp2_session_mem_send(session, &bytes)
                guard count >= 0 else { return close() }
                guard count > 0, let bytes else { break }
                output += UnsafeBufferPointer(start: bytes, count: count)
            }
            guard sent < output.count else { break }
            let outcome = output.withUnsafeBytes { socket.write(UnsafeRawBufferPointer(rebasing: $0[sent...])) }
            switch outcome {
            case .ended: return close()
            case .later: return watch(forWrites: true)
            case .bytes(let count): sent += count
            }
            if sent == output.count {
                output.removeAll(keepingCapacity: output.capacity <= Self.keptOutput)
                sent = 0
            } else if sent >= Self.outputLimit {
                // If the client reads as slowly as the server answers, the buffer never becomes
                // empty.
                output.removeFirst(sent)
                sent = 0
            }
        }
        watch(forWrites: false)
        if nghttp2_session_want_read(session) == 0, nghttp2_session_want_write(session) == 0 { close() }
    }

    private func watch(forWrites isWanted: Bool) {
        guard isWanted != isWatchingForWrites else { return }
        isWatchingForWrites = isWanted
        if !loop.watch(self, forWrites: isWanted) { close() }
    }

    /// Closes the connection and ends all calls. Must not be called from inside nghttp2.
    func close() {
        guard !isClosed else { return }
        loop.forget(self)
        _ = Glibc.close(descriptor)
        release()
    }

    private func release() {
        isClosed = true
        for stream in streams.values { stream.call?.ended(.cancelled) }
        streams = [:]
        http2?.close()
        session = nil
        account?.connections.subtract(1)
        account = nil
        usage = nil
        server.connectionClosed(id)
    }

    // MARK: Time

    private var checkInterval: Duration { min(settings.configuration.keepalive.timeout, Self.greetingLimit) / 4 }

    func check(at now: ContinuousClock.Instant) {
        guard !isClosed, let session else { return }
        let keepalive = settings.configuration.keepalive
        if let leaving, now - leaving >= Self.noticeLimit {
            // A client that reads nothing must not delay the shutdown.
            if isCancelled { return close() }
            answered()
        }
        if !isGreeted, now - opened > Self.greetingLimit { return close() }
        if let pinged {
            if now - pinged > keepalive.timeout { return close() }
        } else if now - heard > keepalive.time {
            pinged = now
            nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
        }
        for stream in Array(streams.values) {
            guard let deadline = stream.call?.deadline else { continue }
            if deadline <= now { reset(stream) } else { loop.check(at: deadline) }
        }
        loop.check(at: now + checkInterval)
        sendSoon()
    }

    // MARK: The end

    /// Stops accepting calls, and closes the connection once the calls in progress have ended.
    ///
    /// Calls that were in flight when the server's notice was sent are accepted (RFC 9113 section
    /// 6.8).
    func shutDown() {
        guard leaving == nil, let session else { return }
        if isUndecided { return close() }
        leaving = .now
        nghttp2_submit_shutdown_notice(session)
        nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
        loop.check(at: .now + Self.noticeLimit)
        sendSoon()
    }

    /// Handles the answer to a ping. If the server is stopping, the client has now read the notice.
    func answered() {
        guard leaving != nil, let session else { return }
        let last = nghttp2_session_get_last_proc_stream_id(session)
        nghttp2_submit_goaway(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), last, NGHTTP2_NO_ERROR.rawValue, nil, 0)
    }

    /// Cancels all calls, and closes the connection soon, whatever the client does. Call after
    /// `shutDown`.
    func cancelAllCalls() {
        isCancelled = true
        loop.check(at: .now + Self.noticeLimit)
        for stream in Array(streams.values) { reset(stream) }
        sendSoon()
    }

    /// Cancels a call on both sides.
    func reset(_ stream: ServerStream) {
        guard !stream.isDead, let session else { return }
        nghttp2_submit_rst_stream(
            session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream.id, NGHTTP2_CANCEL.rawValue)
        kill(stream)
    }

    /// Ends a call, and notifies its handler that nothing more can be sent or received.
    func kill(_ stream: ServerStream) {
        stream.isDead = true
        stream.batch = nil
        stream.call?.ended(.cancelled)
    }
}
