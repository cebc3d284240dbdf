import CLinux
import CMicroHTTPD
import Glibc
import HTTPMessages
import Synchronization
import SystemIO

/// One request and its response: the state that libmicrohttpd's callbacks and the handler's task
/// share.
///
/// While libmicrohttpd has nothing to do for a connection, the connection is suspended.
/// `state.isSuspended` records that. The field and libmicrohttpd's own flag change together under
/// the lock, so a connection is never suspended twice, nor resumed after it was freed.
///
/// `@unchecked Sendable`: `connection` is used by libmicrohttpd's callbacks, and by
/// `MHD_resume_connection`, which other threads may call while the connection is suspended and thus
/// cannot be freed. Everything else is immutable or in `state`.
final class Exchange: @unchecked Sendable {
    enum Stage {
        /// The header fields have not been processed.
        case opened
        /// The client waits for "100 Continue" before it sends the body.
        case expecting
        case receiving
        /// The request is complete.
        case received
        /// libmicrohttpd has the response.
        case answered
        /// libmicrohttpd has finished with the request, and `connection` is invalid.
        case detached
    }

    struct State {
        var stage = Stage.opened
        var isSuspended = false
        /// Whether the connection closes at libmicrohttpd's next callback.
        var isAborted = false

        /// A request without a body, kept until the request is complete and its handler starts.
        var waiting: HTTPServerRequest?

        // The request's body.
        var incoming: [UInt8] = []
        var incomingTotal = 0
        /// The length of the whole body in bytes, or 0 if the client did not announce it.
        var incomingExpected = 0
        var incomingDropped = 0
        var incomingFailure: HTTPError?
        var incomingIsUnwanted = false
        var reader: CheckedContinuation<[UInt8]?, any Error>?
        /// Whether the rest of the body is collected in `incoming` before the reader gets any of
        /// it.
        var collectsRest = false

        /// Whether the reader can be given a part of the body.
        ///
        /// A body of known length is passed on in few, long parts, because each part costs its
        /// reader a wake-up and often a write. A body of unknown length is passed on piece by
        /// piece.
        var hasPart: Bool {
            guard !incoming.isEmpty else { return false }
            let isLast = incomingTotal == incomingExpected
            return incomingExpected == 0 || isLast || incoming.count >= Exchange.highWater
        }

        // The response.
        var response: HTTPResponse?
        var outgoing: [[UInt8]] = []
        var outgoingPosition = 0
        var outgoingBytes = 0
        var outgoingHasEnded = false
        var outgoingHasFailed = false
        var writer: CheckedContinuation<Bool, Never>?

        var task: Task<Void, Never>?

        /// The rate at which the client sends its body or reads the answer, measured since `stage`
        /// was first checked.
        var pace: (stage: Stage, pace: TransferPace)?
    }

    /// The number of buffered bytes in either direction above which the faster side is paused.
    static let highWater = 256 << 10

    /// The number of bytes of an unwanted body that are read and dropped so that the client sees
    /// the answer. A longer body ends the connection.
    static let dropLimit = 64 << 20

    let core: ServerCore
    let peer: Connection?
    let connection: OpaquePointer
    let target: String
    /// The end of the target in libmicrohttpd's buffer.
    let targetEnd: UnsafePointer<CChar>
    let state = Mutex(State())

    init(_ core: ServerCore, _ peer: Connection?, _ connection: OpaquePointer, target: UnsafePointer<CChar>) {
        self.core = core
        self.peer = peer
        self.connection = connection
        self.target = String(cString: target)
        targetEnd = target + strlen(target)
        peer?.begin(self)
    }

    /// libmicrohttpd's access callback: once when the header fields are there, once for each piece of body, and until
    /// there is a response when the request is whole. false closes the connection.
    func advance(
        method: UnsafePointer<CChar>, version: UnsafePointer<CChar>, data: UnsafeRawBufferPointer
    ) -> Bool {
        switch state.withLock({ $0.isAborted ? .detached : $0.stage }) {
        case .opened: return open(method: method, version: version)
        case .expecting: return goOnExpecting()
        case .receiving where data.count > 0: return receive(data)
        case .receiving, .received: return answerOrWait()
        case .answered: return true
        case .detached: return false
        }
    }

    /// Suspends the connection. Call under the lock, on libmicrohttpd's thread.
    func suspend(_ state: inout State) {
        guard !state.isSuspended else { return }
        state.isSuspended = true
        MHD_suspend_connection(connection)
    }

    /// Resumes the connection. Call under the lock, on any thread.
    func resume(_ state: inout State) {
        guard state.isSuspended else { return }
        state.isSuspended = false
        MHD_resume_connection(connection)
        core.hasResumed()
    }

    /// Cancels the handler because the client has closed its side.
    ///
    /// The handler's answer is still sent, because the client may have closed only its sending
    /// direction.
    func hangUp() {
        let task = state.withLock { state -> Task<Void, Never>? in
            guard state.stage == .expecting || state.stage == .receiving else { return state.task }
            // The rest of the body may have arrived already. libmicrohttpd reads it and then finds
            // the end of the stream.
            resume(&state)
            return nil
        }
        task?.cancel()
    }

    /// Closes the connection regardless of what the handler does.
    func abort() {
        let left = state.withLock { state in
            state.isAborted = true
            state.incomingFailure = Self.lost
            resume(&state)
            return release(&state)
        }
        left()
        // libmicrohttpd may also be waiting for the client.
        peer?.shutdown(Int32(SHUT_RDWR))
    }

    /// Ends the exchange, after libmicrohttpd's last callback for the request.
    func detach(isComplete: Bool) {
        peer?.end()
        core.watch(peer, after: core.settings.limits.idle)
        let left = state.withLock { state in
            state.stage = .detached
            state.isSuspended = false
            if !isComplete { state.incomingFailure = Self.lost }
            state.outgoing = []
            return release(&state)
        }
        left()
        core.end(self)
    }

    /// Takes out the reader, writer and task of the exchange.
    ///
    /// - Returns: A function that resumes and cancels them; call it without the lock.
    private func release(_ state: inout State) -> () -> Void {
        let (reader, writer, task) = (state.reader, state.writer, state.task)
        state.reader = nil
        state.writer = nil
        return {
            reader?.resume(throwing: Self.lost)
            writer?.resume(returning: false)
            task?.cancel()
        }
    }

    // MARK: Limits

    /// The use of the connection. Safe on any thread.
    var use: Connection.Limiter.Use {
        state.withLock { state in
            switch state.stage {
            case .opened: .unproven
            case .receiving where !state.isSuspended && !state.isAborted: .waiting
            case .expecting, .receiving, .received, .answered, .detached: .busy
            }
        }
    }

    /// Whether no part of an answer can have been sent, and libmicrohttpd is not about to send one.
    var mayBeAnsweredFromOutside: Bool {
        state.withLock { state in
            (state.stage == .opened || state.stage == .receiving) && state.response == nil && !state.isSuspended
        }
    }

    /// Whether the client sends its body, or reads its answer, fast enough. Runs on the loop's
    /// thread.
    func keepsUp(_ descriptor: Int32, at now: ContinuousClock.Instant) -> Bool {
        state.withLock { state in
            let bytes: UInt64
            var isWaiting = !state.isSuspended
            switch state.stage {
            case .receiving: bytes = UInt64(clamping: state.incomingTotal) + UInt64(clamping: state.incomingDropped)
            case .answered:
                var acknowledged: UInt64 = 0
                var unsent: Int32 = 0
                guard ferry_tcp_progress(descriptor, &acknowledged, &unsent) == 0 else { return true }
                bytes = acknowledged
                isWaiting = unsent > 0
            case .opened, .expecting, .received, .detached:
                state.pace = nil
                return true
            }
            guard var known = state.pace, known.stage == state.stage else {
                state.pace = (state.stage, TransferPace(core.settings.limits.pace, bytes: bytes, at: now))
                return true
            }
            let keepsUp = known.pace.keepsUp(bytes: bytes, isWaiting: isWaiting, at: now)
            state.pace = known
            return keepsUp
        }
    }

    static let lost = HTTPError(.connectionLost, "The client closed the connection.")
}
