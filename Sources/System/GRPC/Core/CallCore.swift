import CGRPC
import Synchronization

/// A streaming call: a queue in each direction, and the core's operations for them.
///
/// Sendable because the pointers are constant, the queues are behind locks, and the core allows one thread in the
/// sending and one in the receiving operations of a call at a time, which the queues ensure.
class CallCore: CompletionTarget, @unchecked Sendable {
    let call: OpaquePointer
    let results: UnsafeMutablePointer<cgrpc_results>
    private let queue: CompletionQueue
    private let sends = Mutex(SendQueue<UnsafeContinuation<Void, Never>>())
    private let receives = Mutex(ReceiveQueue<UnsafeContinuation<Received, Never>>())
    /// The message of the send under way, which only the one who may start sends touches.
    private var outgoing: UnsafeMutablePointer<grpc_byte_buffer>?

    /// Takes over the reference to the call.
    init(_ call: OpaquePointer, queue: CompletionQueue) {
        self.call = call
        self.queue = queue
        results = cgrpc_results_create()
    }

    deinit {
        // No operation is under way, as each would hold this object.
        if let outgoing { grpc_byte_buffer_destroy(outgoing) }
        grpc_call_unref(call)
        cgrpc_results_destroy(results)
    }

    /// Flags of the operation that sends the headers.
    var headerFlags: UInt32 { 0 }

    override func completed(_ operation: Operation, success: Bool) {
        switch operation {
        case .send: sent(success)
        case .receive: received()
        default: break
        }
    }

    // MARK: Sending

    /// Whether headers were handed in; none can be sent after them.
    var hasHeaders: Bool { sends.withLock { $0.hasHeaders } }

    /// Whether an end was handed in; nothing can be sent after it.
    var isSendingEnded: Bool { sends.withLock { $0.isEnded } }

    /// Hands in a batch behind those that wait; does not wait itself.
    /// - Returns: false if it was dropped, because the call has failed or the batch may not follow the ones before.
    @discardableResult
    func enqueue(_ batch: Outgoing) -> Bool {
        switch sends.withLock({ $0.add(batch) }) {
        case .dropped: return false
        case .accepted(let start):
            if let start { self.start(start) }
            return true
        }
    }

    /// Hands in a batch and waits until there is room for the next one.
    /// - Returns: false if it was dropped, or the call failed meanwhile.
    nonisolated(nonsending) func send(_ batch: Outgoing) async -> Bool {
        guard enqueue(batch) else { return false }
        return await sends.waitForRoom()
    }

    /// Starts a batch that `sends` gave out. No lock is held: the core may write to the network in here.
    private func start(_ first: SendQueue<UnsafeContinuation<Void, Never>>.Start) {
        if tryStart(first.batch, flags: first.isFollowed ? UInt32(GRPC_WRITE_BUFFER_HINT) : 0) { return }
        // The core takes no more of this call.
        grpc_call_cancel(call, nil)
        sent(false)
    }

    private func tryStart(_ batch: Outgoing, flags: UInt32) -> Bool {
        var operations = cgrpc_batch()
        if let message = batch.message {
            outgoing = Message.buffer(message)
            cgrpc_send_message(&operations, outgoing, flags)
        }
        switch batch.end {
        case nil: return tryStart(&operations, headers: batch.headers)
        case .halfClose:
            cgrpc_send_half_close(&operations)
            return tryStart(&operations, headers: batch.headers)
        // Only servers have one.
        case .status: return false
        }
    }

    private func tryStart(_ operations: inout cgrpc_batch, headers: GRPCMetadata?) -> Bool {
        guard let headers else { return start(&operations, on: call, as: .send) == GRPC_CALL_OK }
        return headers.withCoreEntries { entries, count in
            cgrpc_send_headers(&operations, entries, count, headerFlags)
            return start(&operations, on: call, as: .send) == GRPC_CALL_OK
        }
    }

    private func sent(_ success: Bool) {
        if let outgoing { grpc_byte_buffer_destroy(outgoing) }
        outgoing = nil
        let (start, waiters) = sends.withLock { $0.sent(success) }
        if let start { self.start(start) }
        for waiter in waiters { waiter.resume() }
    }

    // MARK: Receiving

    /// Waits for the next message.
    nonisolated(nonsending) func receive() async -> Received {
        let (answer, start) = receives.withLock { $0.ask() }
        if start { startReceiving() }
        if let answer { return answer }
        return await withUnsafeContinuation { continuation in
            if let answer = receives.withLock({ $0.wait(continuation) }) { continuation.resume(returning: answer) }
        }
    }

    private func startReceiving() {
        var operations = cgrpc_batch()
        cgrpc_receive_message(&operations, results)
        if start(&operations, on: call, as: .receive) != GRPC_CALL_OK { received() }
    }

    private func received() {
        let message = Message.take(results)
        let (reader, answer, start) = receives.withLock { $0.received(message) }
        if start { startReceiving() }
        reader?.resume(returning: answer)
    }
}
