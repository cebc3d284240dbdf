/// A connection to one server, made when the first call needs it and made again after it is lost.
///
/// Calls are started by path, `/package.Service/Method`, with messages already encoded. All channels of a process share
/// one polling thread. Dropping the last reference closes the channel when its calls have ended.
package final class GRPCChannel: Sendable {
    /// What was given as `host:port`.
    package let target: String
    private let core: ChannelCore

    /// - Parameter target: `host:port`, `[v6 address]:port` or `unix:path`. A name is looked up when a call needs it.
    package init(_ target: String, configuration: GRPCChannelConfiguration = GRPCChannelConfiguration()) {
        self.target = target
        core = ChannelCore(target: target, configuration: configuration)
    }

    /// Sends one message and returns the answer.
    /// - Throws: the status of the call. Cancelling the task cancels the call, which then throws `cancelled`.
    package nonisolated(nonsending) func unary(
        _ path: String, _ request: [UInt8], options: GRPCCallOptions = GRPCCallOptions()
    ) async throws(GRPCStatus) -> [UInt8] {
        try await response(path, request, options: options).message
    }

    /// As `unary`, with the server's metadata.
    package nonisolated(nonsending) func response(
        _ path: String, _ request: [UInt8], options: GRPCCallOptions = GRPCCallOptions()
    ) async throws(GRPCStatus) -> GRPCResponse {
        let call = try UnaryCall(core, path, options)
        let result = await withTaskCancellationHandler {
            await withUnsafeContinuation { call.start(request, options, $0) }
        } onCancel: {
            call.cancel()
        }
        return try result.get()
    }

    /// Starts a call with messages in both directions, or with many requests and one `response()`.
    /// - Throws: `invalidArgument` for illegal metadata, `cancelled` on a closed channel; other failures show when the
    ///   call is used.
    package func call(
        _ path: String, options: GRPCCallOptions = GRPCCallOptions()
    ) throws(GRPCStatus) -> GRPCClientCall {
        GRPCClientCall(try ClientCallCore(core, path, options, first: Outgoing()))
    }

    /// Starts a call with one request, whose answers are the call's `responses`.
    package func call(
        _ path: String, request: [UInt8], options: GRPCCallOptions = GRPCCallOptions()
    ) throws(GRPCStatus) -> GRPCClientCall {
        GRPCClientCall(
            try ClientCallCore(core, path, options, first: Outgoing(message: request, end: .halfClose)))
    }

    /// Tries to connect again at once, for example after the network came back.
    package func resetBackoff() {
        core.resetBackoff()
    }

    /// Cancels all calls and closes the connection. Later calls throw `cancelled`.
    package func close() {
        core.close()
    }
}
