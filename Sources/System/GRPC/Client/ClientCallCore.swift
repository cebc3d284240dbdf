import CGRPC
import Synchronization

/// The client's end of a streaming call.
///
/// Sendable for the reasons of `CallCore`; what is added is constant or behind the lock.
final class ClientCallCore: CallCore, @unchecked Sendable {
    /// How a call ended.
    struct End {
        let status: GRPCStatus
        let trailers: GRPCMetadata
    }

    private struct State {
        var end: End?
        var endWaiters: [UnsafeContinuation<End, Never>] = []
        var headers: GRPCMetadata?
        var headerWaiters: [UnsafeContinuation<GRPCMetadata, Never>] = []
    }

    private let channel: ChannelCore
    private let options: GRPCCallOptions
    private let state = Mutex(State())

    /// Opens and starts the call, with the first parts of what is to be sent.
    init(_ channel: ChannelCore, _ path: String, _ options: GRPCCallOptions, first: Outgoing) throws(GRPCStatus) {
        self.channel = channel
        self.options = options
        super.init(try channel.open(path, options), queue: channel.queue)
        var first = first
        first.headers = options.metadata
        enqueue(first)
        var receiveHeaders = cgrpc_batch()
        cgrpc_receive_headers(&receiveHeaders, results)
        if start(&receiveHeaders, on: call, as: .headers) != GRPC_CALL_OK { cancel() }
        var receiveStatus = cgrpc_batch()
        cgrpc_receive_status(&receiveStatus, results)
        let error = start(&receiveStatus, on: call, as: .status)
        if error != GRPC_CALL_OK {
            cancel()
            ended(.refused(error), [:])
        }
    }

    deinit { channel.ended(call) }

    override var headerFlags: UInt32 { options.headerFlags }

    override func completed(_ operation: Operation, success: Bool) {
        switch operation {
        case .headers: receivedHeaders()
        case .status:
            let trailers = GRPCMetadata(results.pointee.trailers)
            ended(GRPCStatus(results.pointee, trailers: trailers), trailers)
        default: super.completed(operation, success: success)
        }
    }

    func cancel() {
        grpc_call_cancel(call, nil)
    }

    /// How the call ended, once it has.
    var end: End? { state.withLock { $0.end } }

    nonisolated(nonsending) func waitForEnd() async -> End {
        await withUnsafeContinuation { continuation in
            let end = state.withLock { state in
                if state.end == nil { state.endWaiters.append(continuation) }
                return state.end
            }
            if let end { continuation.resume(returning: end) }
        }
    }

    /// The server's headers; empty if the call ended without.
    nonisolated(nonsending) func waitForHeaders() async -> GRPCMetadata {
        await withUnsafeContinuation { continuation in
            let headers = state.withLock { state in
                if state.headers == nil { state.headerWaiters.append(continuation) }
                return state.headers
            }
            if let headers { continuation.resume(returning: headers) }
        }
    }

    private func receivedHeaders() {
        let headers = GRPCMetadata(results.pointee.headers)
        let waiters = state.withLock { state in
            state.headers = headers
            defer { state.headerWaiters = [] }
            return state.headerWaiters
        }
        for waiter in waiters { waiter.resume(returning: headers) }
    }

    private func ended(_ status: GRPCStatus, _ trailers: GRPCMetadata) {
        channel.ended(call)
        let end = End(status: status, trailers: trailers)
        let waiters = state.withLock { state in
            state.end = end
            defer { state.endWaiters = [] }
            return state.endWaiters
        }
        for waiter in waiters { waiter.resume(returning: end) }
    }
}
