import CGRPC

/// One standing request for the next incoming call; it asks again after each.
///
/// Sendable because the core writes the memory between a request and its completion, and only the completion reads it.
final class CallAcceptor: CompletionTarget, @unchecked Sendable {
    /// A method whose calls are asked for apart from the others.
    struct Method {
        let path: String
        let handle: UnsafeMutableRawPointer
    }

    private let server: ServerCore
    /// Where the operations of the calls end.
    private let queue: CompletionQueue
    /// nil for all methods that are not asked for apart.
    private let method: Method?
    private let call = UnsafeMutablePointer<OpaquePointer?>.allocate(capacity: 1)
    private let details = UnsafeMutablePointer<grpc_call_details>.allocate(capacity: 1)
    private let headers = UnsafeMutablePointer<grpc_metadata_array>.allocate(capacity: 1)

    init(_ server: ServerCore, _ queue: CompletionQueue, _ method: Method? = nil) {
        self.server = server
        self.queue = queue
        self.method = method
        call.initialize(to: nil)
        details.initialize(to: grpc_call_details())
        headers.initialize(to: grpc_metadata_array())
    }

    deinit {
        call.deallocate()
        details.deallocate()
        headers.deallocate()
    }

    func accept() {
        grpc_call_details_init(details)
        grpc_metadata_array_init(headers)
        let tag = tag(.accept)
        let (notified, bound) = (server.queue.queue, queue.queue)
        let error =
            if let method {
                withUnsafeMutablePointer(to: &details.pointee.deadline) { deadline in
                    grpc_server_request_registered_call(
                        server.server, method.handle, call, deadline, headers, nil, bound, notified, tag)
                }
            } else {
                grpc_server_request_call(server.server, call, details, headers, bound, notified, tag)
            }
        if error != GRPC_CALL_OK { Self.release(tag) }
    }

    override func completed(_ operation: Operation, success: Bool) {
        defer {
            grpc_call_details_destroy(details)
            grpc_metadata_array_destroy(headers)
            // Unsuccessful means that the server is shutting down.
            if success { accept() }
        }
        guard success, let call = call.pointee else { return }
        let core = ServerCallCore(
            call, server: server, queue: queue, path: method?.path ?? Message.text(details.pointee.method),
            metadata: GRPCMetadata(headers.pointee),
            deadline: ContinuousClock.Instant(deadline: details.pointee.deadline))
        server.handlerStarted()
        core.run()
    }
}

extension ContinuousClock.Instant {
    /// A deadline of the core; nil if it is never.
    init?(deadline: gpr_timespec) {
        let left = gpr_time_sub(deadline, gpr_now(deadline.clock_type))
        guard gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) < 0 else { return nil }
        self = .now + .seconds(left.tv_sec) + .nanoseconds(Int64(left.tv_nsec))
    }
}
