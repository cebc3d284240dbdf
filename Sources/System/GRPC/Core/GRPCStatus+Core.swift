import CGRPC

extension GRPCStatus {
    /// The status that a client's call ended with.
    init(_ results: cgrpc_results, trailers: GRPCMetadata) {
        self.init(
            Code(wire: Int(results.status.rawValue)), Message.text(results.status_message),
            details: trailers.bytes(Self.detailsKey) ?? [])
    }

    /// The core did not take an operation.
    static func refused(_ error: grpc_call_error) -> GRPCStatus {
        GRPCStatus(.internal, "The call could not be started: \(String(cString: grpc_call_error_to_string(error))).")
    }
}

extension GRPCCallOptions {
    /// What the operation that sends the headers is told.
    var headerFlags: UInt32 {
        waitForReady
            ? UInt32(GRPC_INITIAL_METADATA_WAIT_FOR_READY | GRPC_INITIAL_METADATA_WAIT_FOR_READY_EXPLICITLY_SET) : 0
    }
}
