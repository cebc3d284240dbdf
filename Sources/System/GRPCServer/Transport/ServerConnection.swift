import CNGHTTP2
import GRPCProtocol
import Glibc
import Synchronization
import SystemIO

/// One client's connection: its socket, and the HTTP/2 that nghttp2 speaks on it.
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
    /// Bytes of messages that are not whole yet, of all streams.
    var unfinished = 0
    /// Bytes of answers that the client has not read, of all streams.
    let unread = ByteCount()
    /// The caller of the last call, whose calls seldom come alone.
    var usage: CallerUsage?
    /// The account that the connection counts for.
    var account: CallerUsage?
    private let signedIn: Atomic<Bool>
    private let openStreams = Atomic(0)
    private let socket: SocketStream
    private var output: [UInt8] = []
    private var sent = 0
    private var isSending = false
    private var isWatchingForWrites = false
    private var isClosed = false
    private let opened = ContinuousClock.now
    private var heard = ContinuousClock.now
    private var pinged: ContinuousClock.Instant?
    /// Since when the client is told that the server takes no more calls.
    private var leaving: ContinuousClock.Instant?
    private var isCancelled = false
    /// The client has spoken HTTP/2.
    var isGreeted = false

    private static let greetingLimit = Duration.seconds(20)
    /// How long a client may take to answer the notice that the server stops.
    private static let noticeLimit = Duration.seconds(1)
    private static let readSize = 64 << 10
    /// Then what has come is worked on, and other connections have their turn; the loop tells at
    /// once that more is there. A read takes all that TLS has decrypted.
    private static let readsInARow = 4
    /// What waits in the process before the socket takes it.
    private static let outputLimit = 256 << 10

    /// Takes over the descriptor.
    init(_ descriptor: Int32, id: Int, peer: GRPCPeer, server: ServerCore, loop: NetworkLoop) {
        self.descriptor = descriptor
        self.id = id
        self.peer = peer
        self.server = server
        settings = server.settings
        signedIn = Atomic(settings.configuration.authorize == nil)
        self.loop = loop
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

    /// What a client may send ahead on one call, and on all calls of a connection.
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

    /// A call was authorized: the client may make as many as it likes.
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

    /// What the connection is used for, and since when; on any thread.
    var use: (ConnectionLimiter<Int>.Use, ContinuousClock.Instant) {
        guard isSignedIn else { return (.unproven, opened) }
        return (openStreams.load(ordering: .relaxed) == 0 ? .idle : .busy, opened)
    }

    /// Closes for another connection, or because of abuse; the client is told, if it reads.
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

    /// Lets what nghttp2 has to send go out with all else that this turn of the loop brings.
    func sendSoon() {
        guard !isSending else { return }
        isSending = true
        loop.sendSoon(self)
    }

    func send() {
        isSending = false
        guard !isClosed, let session else { return }
        while true {
            while output.count - sent < Self.outputLimit {
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
                output.removeAll(keepingCapacity: output.capacity <= 2 * Self.outputLimit)
                sent = 0
            } else if sent >= Self.outputLimit {
                // While a client reads as slowly as the server answers, the end is never met.
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

    /// Ends all calls. Never called from inside nghttp2.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        loop.forget(self)
        _ = Glibc.close(descriptor)
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
            // A client that reads nothing holds nobody up.
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

    /// Takes no more calls, and closes once those under way have ended: calls that were on their
    /// way to the server when its notice was on its way to the client are taken, too. RFC 9113,
    /// 6.8.
    func shutDown() {
        guard leaving == nil, let session else { return }
        leaving = .now
        nghttp2_submit_shutdown_notice(session)
        nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
        loop.check(at: .now + Self.noticeLimit)
        sendSoon()
    }

    /// The client has answered a ping: it has read the notice, if there was one.
    func answered() {
        guard leaving != nil, let session else { return }
        let last = nghttp2_session_get_last_proc_stream_id(session)
        nghttp2_submit_goaway(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), last, NGHTTP2_NO_ERROR.rawValue, nil, 0)
    }

    /// To be called after `shutDown`: closes soon, whatever the client does.
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

    /// Lets a call's handler know that nothing more can be sent or received.
    func kill(_ stream: ServerStream) {
        stream.isDead = true
        stream.batch = nil
        stream.call?.ended(.cancelled)
    }
}
