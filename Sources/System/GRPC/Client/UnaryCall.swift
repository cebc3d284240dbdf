import CGRPC

/// A call of one message each way: everything in one batch, which ends when the call has.
///
/// Sendable because the pointers are constant, `start` is called once and writes before it hands the batch to the core,
/// and the core's completion comes after that.
final class UnaryCall: CompletionTarget, @unchecked Sendable {
    typealias Waiter = UnsafeContinuation<Result<GRPCResponse, GRPCStatus>, Never>

    private let channel: ChannelCore
    private let call: OpaquePointer
    private let results: UnsafeMutablePointer<cgrpc_results>
    private var outgoing: UnsafeMutablePointer<grpc_byte_buffer>?
    private var waiter: Waiter?

    init(_ channel: ChannelCore, _ path: String, _ options: GRPCCallOptions) throws(GRPCStatus) {
        self.channel = channel
        call = try channel.open(path, options)
        results = cgrpc_results_create()
    }

    deinit {
        channel.ended(call)
        if let outgoing { grpc_byte_buffer_destroy(outgoing) }
        grpc_call_unref(call)
        cgrpc_results_destroy(results)
    }

    func start(_ request: [UInt8], _ options: GRPCCallOptions, _ waiter: Waiter) {
        self.waiter = waiter
        outgoing = Message.buffer(request)
        var operations = cgrpc_batch()
        cgrpc_send_message(&operations, outgoing, 0)
        cgrpc_send_half_close(&operations)
        cgrpc_receive_headers(&operations, results)
        cgrpc_receive_message(&operations, results)
        cgrpc_receive_status(&operations, results)
        let error = options.metadata.withCoreEntries { entries, count in
            cgrpc_send_headers(&operations, entries, count, options.headerFlags)
            return start(&operations, on: call, as: .status)
        }
        if error != GRPC_CALL_OK { waiter.resume(returning: .failure(.refused(error))) }
    }

    func cancel() {
        grpc_call_cancel(call, nil)
    }

    override func completed(_ operation: Operation, success: Bool) {
        channel.ended(call)
        let trailers = GRPCMetadata(results.pointee.trailers)
        let status = GRPCStatus(results.pointee, trailers: trailers)
        let message = Message.take(results)
        let result: Result<GRPCResponse, GRPCStatus> =
            if status.code != .ok {
                .failure(status)
            } else if let message {
                .success(
                    GRPCResponse(message: message, headers: GRPCMetadata(results.pointee.headers), trailers: trailers))
            } else {
                .failure(GRPCStatus(.internal, "The server answered without a message."))
            }
        waiter?.resume(returning: result)
        waiter = nil
    }
}
