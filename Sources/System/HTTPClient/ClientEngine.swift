import CCurl
import HTTPMessages
import Synchronization
import SystemIO

/// A network loop that runs all transfers of a client through libcurl.
///
/// libcurl names the sockets and times to wait for, so only sockets that are ready are examined.
/// Other threads schedule work on the loop.
///
/// `@unchecked Sendable`: state outside the lock is used on the loop's thread only, or before the
/// loop starts and after it has ended.
final class ClientEngine: @unchecked Sendable {
    let configuration: HTTPClient.Configuration
    /// The loop, or nil before the first transfer.
    private let loop = Mutex<NetworkLoop?>(nil)
    private var multi: UnsafeMutableRawPointer?
    private var transfers: [UnsafeMutableRawPointer: Transfer] = [:]
    private var sockets: [Int32: ClientSocket] = [:]
    /// Handles that were reset for later transfers, because resetting a handle is faster than
    /// creating one.
    private var spareHandles: [UnsafeMutableRawPointer] = []
    private static let sparesAtMost = 16

    /// The time at which libcurl wants to be called even if no socket is ready.
    private var nextCall: ContinuousClock.Instant?
    private var wantsCallNow = false
    /// Transfers that have received bytes that were not delivered to their readers.
    var touched: [Transfer] = []

    init(_ configuration: HTTPClient.Configuration) {
        self.configuration = configuration
        multi = Self.libraryIsReady ? curl_multi_init() : nil
        _ = ferry_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, max(1, configuration.idleConnections))
        _ = ferry_curl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, max(0, configuration.connectionsPerHost))
        ferry_curl_multi_set_callbacks(
            multi,
            { _, socket, events, context, _ in
                ClientEngine.from(context)?.watch(socket, for: events)
                return 0
            },
            { _, milliseconds, context in
                ClientEngine.from(context)?.wait(milliseconds)
                return 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    private static let libraryIsReady = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

    private static func from(_ context: UnsafeMutableRawPointer?) -> ClientEngine? {
        context.map { Unmanaged<ClientEngine>.fromOpaque($0).takeUnretainedValue() }
    }

    deinit { close() }

    // MARK: From any thread

    /// Starts a transfer, and the thread with the first one.
    func start(_ transfer: Transfer) throws {
        try loop.withLock { running in
            guard running == nil else { return }
            do {
                let loop = try NetworkLoop()
                loop.alsoCheck { [weak self] now in self?.check(at: now) }
                try loop.start(named: "http-client")
                running = loop
            } catch {
                throw HTTPError(.stopped, "The system gave no thread for HTTP requests.", cause: error)
            }
        }
        later { engine in engine.add(transfer) }
    }

    func cancel(_ transfer: Transfer) {
        later { engine in engine.remove(transfer) }
    }

    /// Resumes a transfer that can receive or send more bytes again.
    func unpause(_ transfer: Transfer) {
        later { _ in transfer.unpause() }
    }

    /// Ends the thread. Transfers in progress fail.
    func stop() {
        later { engine in
            for transfer in engine.transfers.values {
                engine.remove(transfer)
                transfer.finish(HTTPError(.stopped, "The HTTP client was closed."))
            }
            engine.close()
        }
        loop.withLock { $0?.stop() }
    }

    private func later(_ action: @escaping @Sendable (ClientEngine) -> Void) {
        loop.withLock { $0 }?.later { [self] in
            action(self)
            settle()
        }
    }

    // MARK: On the loop's thread

    /// Returns a handle for a transfer, or nil if libcurl cannot create one.
    func takeHandle() -> UnsafeMutableRawPointer? { spareHandles.popLast() ?? curl_easy_init() }

    /// Takes back a handle that is no longer in use.
    func give(_ handle: UnsafeMutableRawPointer) {
        guard spareHandles.count < Self.sparesAtMost else { return curl_easy_cleanup(handle) }
        curl_easy_reset(handle)
        spareHandles.append(handle)
    }

    fileprivate func ready(_ socket: ClientSocket, toRead: Bool, toWrite: Bool) {
        call(socket.descriptor, (toRead ? CURL_CSELECT_IN : 0) | (toWrite ? CURL_CSELECT_OUT : 0))
        settle()
    }

    private func call(_ socket: curl_socket_t, _ events: Int32) {
        // Unlike libcurl's other functions, this one does not accept nil. It can still be called
        // after `close`.
        guard let multi else { return }
        var running: Int32 = 0
        curl_multi_socket_action(multi, socket, events, &running)
    }

    /// Drives libcurl until it waits only for sockets and times.
    private func settle() {
        if wantsCallNow {
            wantsCallNow = false
            call(CURL_SOCKET_TIMEOUT, 0)
        }
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let transfer = transfers[message.pointee.easy_handle] else {
                continue
            }
            let result = ferry_curl_message_result(message)
            transfer.complete(result)
            remove(transfer)
        }
        // Delivering can resume a paused transfer, which then receives the bytes that libcurl held
        // back.
        while let transfer = touched.popLast() { transfer.deliver() }
        // Handle other sockets first.
        if wantsCallNow { later { _ in } }
    }

    private func check(at now: ContinuousClock.Instant) {
        guard let due = nextCall else { return }
        if due <= now {
            nextCall = nil
            wantsCallNow = true
            settle()
        } else {
            callLoop { $0.check(at: due) }
        }
    }

    private func add(_ transfer: Transfer) {
        guard !transfer.isFinished else { return }
        guard let easy = transfer.open(), curl_multi_add_handle(multi, easy) == CURLM_OK else {
            transfer.close()
            transfer.finish(HTTPError(.stopped, "libcurl refused a request."))
            return
        }
        transfers[easy] = transfer
    }

    private func remove(_ transfer: Transfer) {
        guard let easy = transfer.easy, transfers.removeValue(forKey: easy) != nil else { return }
        curl_multi_remove_handle(multi, easy)
        transfer.close()
    }

    /// Frees all of libcurl's objects.
    private func close() {
        ferry_curl_multi_set_callbacks(multi, nil, nil, nil)
        spareHandles.forEach { curl_easy_cleanup($0) }
        spareHandles = []
        curl_multi_cleanup(multi)
        multi = nil
    }

    // MARK: What libcurl wants

    /// Handles libcurl's socket callback.
    private func watch(_ socket: curl_socket_t, for events: Int32) {
        callLoop { loop in
            if events == CURL_POLL_REMOVE {
                if let known = sockets.removeValue(forKey: socket) { loop.forget(known) }
                return
            }
            let known = sockets[socket] ?? ClientSocket(socket, of: self)
            sockets[socket] = known
            // If watching fails, the transfer's time limits end it.
            _ = loop.watch(
                known, forReads: events & CURL_POLL_IN != 0, forWrites: events & CURL_POLL_OUT != 0)
        }
    }

    /// Handles libcurl's timer callback: one call after that many milliseconds replaces any earlier
    /// request; -1 cancels it.
    private func wait(_ milliseconds: Int) {
        wantsCallNow = milliseconds == 0
        nextCall = milliseconds > 0 ? .now + .milliseconds(milliseconds) : nil
        if let nextCall { callLoop { $0.check(at: nextCall) } }
    }

    private func callLoop(_ body: (NetworkLoop) -> Void) {
        if let loop = loop.withLock({ $0 }) { body(loop) }
    }
}

/// A socket that libcurl opened.
private final class ClientSocket: NetworkSource {
    let descriptor: Int32
    private unowned let engine: ClientEngine

    init(_ descriptor: Int32, of engine: ClientEngine) {
        self.descriptor = descriptor
        self.engine = engine
    }

    func ready(toRead: Bool, toWrite: Bool) { engine.ready(self, toRead: toRead, toWrite: toWrite) }

    func send() {}

    func check(at now: ContinuousClock.Instant) {}
}
