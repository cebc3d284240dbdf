package import Synchronization

/// The contents of one batch to send. The parts that are present are sent in this order.
package struct Outgoing: Sendable {
    package enum End: Sendable {
        /// The client has no more messages.
        case halfClose
        /// The server's status. The trailers also carry the status's details.
        case status(GRPCStatus, trailers: GRPCMetadata)
    }

    package var headers: GRPCMetadata?
    package var message: [UInt8]?
    package var end: End?

    package init(headers: GRPCMetadata? = nil, message: [UInt8]? = nil, end: End? = nil) {
        self.headers = headers
        self.message = message
        self.end = end
    }

    /// The size that the batch counts for, including a constant overhead.
    package var size: Int { 256 + (message?.count ?? 0) }
}

/// The batches of a call in sending order, of which the connection takes one at a time.
///
/// This is a pure state machine: each function returns what is to be started, and the caller starts
/// it. A few messages may wait here while the connection is busy with one, so that a sender need
/// not be woken for each message and several can be sent in one write.
package struct SendQueue<Waiter> {
    @inlinable package init() {}

    package enum Admission {
        case dropped
        /// The batch to start now; nil while another one is in progress.
        case accepted(Outgoing?)
    }

    /// Bytes that may wait before senders must.
    @inlinable package static var limit: Int { 64 << 10 }

    @usableFromInline var waiting = Queue<Outgoing>()
    @usableFromInline var waitingSize = 0
    @usableFromInline var waiters: [Waiter] = []
    @usableFromInline var isSending = false
    @usableFromInline package internal(set) var hasFailed = false
    /// Whether headers were handed in; they can go ahead of the first batch only.
    @usableFromInline package internal(set) var hasHeaders = false
    /// Whether an end was handed in; nothing can follow it.
    @usableFromInline package internal(set) var isEnded = false

    /// Whether senders may go on: there is room, or nothing will ever be sent again.
    @inlinable package var hasRoom: Bool { hasFailed || waitingSize < Self.limit }

    /// Hands in a batch behind those that wait. It is dropped after an end, after a failure, and if it has headers but
    /// is not the first. A first batch without headers gets empty ones.
    @inlinable package mutating func add(_ batch: Outgoing) -> Admission {
        if isEnded || hasFailed || (hasHeaders && batch.headers != nil) { return .dropped }
        var batch = batch
        if !hasHeaders { batch.headers = batch.headers ?? [:] }
        hasHeaders = true
        if batch.end != nil { isEnded = true }
        guard isSending else {
            isSending = true
            return .accepted(batch)
        }
        waiting.append(batch)
        waitingSize += batch.size
        return .accepted(nil)
    }

    /// Adds a sender to be resumed when there is room. Call it only while there is none.
    @inlinable package mutating func wait(_ waiter: Waiter) { waiters.append(waiter) }

    /// Records that the batch in progress has ended; a failure drops the waiting ones. Returns the
    /// senders to resume.
    @inlinable package mutating func sent(succeeded success: Bool) -> (start: Outgoing?, resume: [Waiter]) {
        if success, let batch = waiting.popFirst() {
            waitingSize -= batch.size
            return (batch, resumeIfRoom())
        }
        isSending = false
        if !success {
            hasFailed = true
            waiting = Queue()
            waitingSize = 0
        }
        return (nil, resumeIfRoom())
    }

    @inlinable mutating func resumeIfRoom() -> [Waiter] {
        guard hasRoom, !waiters.isEmpty else { return [] }
        defer { waiters = [] }
        return waiters
    }
}

extension Mutex where Value == SendQueue<UnsafeContinuation<Void, Never>> {
    /// Waits until there is room for the next batch.
    ///
    /// - Returns: False if the call failed meanwhile.
    package nonisolated(nonsending) func waitForRoom() async -> Bool {
        if withLock({ $0.hasRoom }) { return true }
        await withUnsafeContinuation { continuation in
            let hasRoom = withLock { sends in
                if !sends.hasRoom { sends.wait(continuation) }
                return sends.hasRoom
            }
            if hasRoom { continuation.resume() }
        }
        return withLock { !$0.hasFailed }
    }
}
