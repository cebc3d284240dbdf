import CLinux
import CMicroHTTPD
import Glibc
import HTTPMessages
import Synchronization
import SystemIO

/// One request and its response: what libmicrohttpd's callbacks and the handler's task share.
///
/// While there is nothing for libmicrohttpd to do it is told to leave the connection alone ("suspended").
/// `state.isSuspended` says so, and both it and libmicrohttpd's own flag change only under the lock, so that a
/// connection is never suspended twice or resumed after it is gone.
///
/// `@unchecked Sendable`: `connection` is used by callbacks, and by `MHD_resume_connection`, which is made for other
/// threads, while suspended, when it cannot be freed. All else is immutable or in `state`.
final class Exchange: @unchecked Sendable {
    enum Stage {
        /// The header fields have not been seen.
        case opened
        /// The client waits for "100 Continue" before it sends the body.
        case expecting
        case receiving
        /// The request is whole.
        case received
        /// libmicrohttpd has the response.
        case answered
        /// libmicrohttpd is done with the request; `connection` is invalid.
        case detached
    }

    struct State {
        var stage = Stage.opened
        var isSuspended = false
        /// The connection is to be closed as soon as libmicrohttpd asks again.
        var isAborted = false

        /// Without a body the handler starts once the request is whole.
        var waiting: HTTPServerRequest?

        // The request's body.
        var incoming: [UInt8] = []
        var incomingTotal = 0
        /// How long the whole body says that it is; 0 where it does not.
        var incomingExpected = 0
        var incomingDropped = 0
        var incomingFailure: HTTPError?
        var incomingIsUnwanted = false
        var reader: CheckedContinuation<[UInt8]?, any Error>?
        /// All that is to come is gathered in `incoming` before the reader gets any of it.
        var collectsRest = false

        /// Whether there is something for a reader. A body of announced length comes in few, long
        /// parts, as each costs its reader a turn, and often a write; of one without, each piece at
        /// once.
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

        /// How fast the client sends its body, or reads the answer; from when that was looked at first.
        var pace: (stage: Stage, pace: TransferPace)?
    }

    /// Above this many bytes in either direction the faster side rests.
    static let highWater = 256 << 10

    /// A body that nobody wants is read up to here, so that the client sees the answer; beyond, it is cut off.
    static let dropLimit = 64 << 20

    let core: ServerCore
    let peer: Connection?
    let connection: OpaquePointer
    let target: String
    /// Where the target ends in libmicrohttpd's buffer.
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

    /// Under the lock, on libmicrohttpd's thread.
    func suspend(_ state: inout State) {
        guard !state.isSuspended else { return }
        state.isSuspended = true
        MHD_suspend_connection(connection)
    }

    /// Under the lock, on any thread.
    func resume(_ state: inout State) {
        guard state.isSuspended else { return }
        state.isSuspended = false
        MHD_resume_connection(connection)
        core.hasResumed()
    }

    /// The client has closed its side. Whatever the handler still answers is tried, as it may only have closed one.
    func hangUp() {
        let task = state.withLock { state -> Task<Void, Never>? in
            guard state.stage == .expecting || state.stage == .receiving else { return state.task }
            // The rest of the body may be here already; libmicrohttpd reads that, and then sees the end for itself.
            resume(&state)
            return nil
        }
        task?.cancel()
    }

    /// Closes the connection whatever the handler does.
    func abort() {
        let left = state.withLock { state in
            state.isAborted = true
            state.incomingFailure = Self.lost
            resume(&state)
            return release(&state)
        }
        left()
        // It may be waiting for the client, too.
        peer?.shutdown(Int32(SHUT_RDWR))
    }

    /// libmicrohttpd's last word on the request.
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

    /// Everyone who waits for the client; the result is to be called without the lock.
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

    /// What the connection is used for, on any thread.
    var use: Connection.Limiter.Use {
        state.withLock { state in
            switch state.stage {
            case .opened: .unproven
            case .receiving where !state.isSuspended && !state.isAborted: .waiting
            case .expecting, .receiving, .received, .answered, .detached: .busy
            }
        }
    }

    /// Whether nothing of an answer can have gone out, and libmicrohttpd is not about to begin.
    var mayBeAnsweredFromOutside: Bool {
        state.withLock { state in
            (state.stage == .opened || state.stage == .receiving) && state.response == nil && !state.isSuspended
        }
    }

    /// Whether the client sends its body, or reads its answer, fast enough. On the loop's thread.
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
