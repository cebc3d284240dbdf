package import GRPCProtocol
import SystemIO

/// A connection to a server, which is established when the first call needs it and again after it
/// was lost.
///
/// Calls name their method by path, `/package.Service/Method`, and take encoded messages. All
/// channels of a process share the thread that reads and writes their connections. Releasing the
/// last reference closes the channel when its calls have ended.
package final class GRPCChannel: Sendable {
    /// The target that was passed to `init`.
    package let target: String
    private let core: ChannelCore

    /// Creates a channel, which connects when a call needs it.
    ///
    /// Connections go through the proxy that `grpc_proxy`, `https_proxy` or `http_proxy` names in
    /// the environment, except to this machine and to the hosts that `no_grpc_proxy` or `no_proxy`
    /// lists.
    ///
    /// - Parameter target: `host:port` or `[v6 address]:port`. A name is looked up for each
    ///   connection.
    package convenience init(
        _ target: String, configuration: GRPCChannelConfiguration = GRPCChannelConfiguration()
    ) {
        self.init(target, configuration: configuration) { ProcessEnvironment[$0] }
    }

    init(_ target: String, configuration: GRPCChannelConfiguration, environment: (String) -> String?) {
        self.target = target
        core = ChannelCore(target: target, configuration: configuration, environment: environment)
    }

    /// Sends one message and returns the answer.
    ///
    /// Cancelling the task cancels the call, which then throws `cancelled`.
    ///
    /// - Throws: The status of the call.
    package nonisolated(nonsending) func unary(
        _ path: String, _ request: [UInt8], options: GRPCCallOptions = GRPCCallOptions()
    ) async throws(GRPCStatus) -> [UInt8] {
        try await response(path, request, options: options).message
    }

    /// Sends one message and returns the answer with the server's metadata. See `unary`.
    package nonisolated(nonsending) func response(
        _ path: String, _ request: [UInt8], options: GRPCCallOptions = GRPCCallOptions()
    ) async throws(GRPCStatus) -> GRPCResponse {
        let call = try ClientCallCore(core, path, options, isUnary: true)
        let end = await withTaskCancellationHandler {
            call.start(Outgoing(message: request, end: .halfClose))
            return await call.waitForEnd()
        } onCancel: {
            call.cancel()
        }
        guard end.status.code == .ok else { throw end.status }
        guard case .message(let message) = await call.receive() else {
            throw GRPCStatus(.internal, "The server answered without a message.")
        }
        return GRPCResponse(
            message: try call.decoded(message), headers: await call.waitForHeaders(), trailers: end.trailers)
    }

    /// Starts a call with messages in both directions, or with many requests and one `response()`.
    ///
    /// - Throws: `invalidArgument` for illegal metadata, `cancelled` on a closed channel. Other
    ///   failures are thrown when the call is used.
    package func call(
        _ path: String, options: GRPCCallOptions = GRPCCallOptions()
    ) throws(GRPCStatus) -> GRPCClientCall {
        try start(path, Outgoing(), options)
    }

    /// Starts a call with one request. The answers are the call's `responses`.
    package func call(
        _ path: String, request: [UInt8], options: GRPCCallOptions = GRPCCallOptions()
    ) throws(GRPCStatus) -> GRPCClientCall {
        try start(path, Outgoing(message: request, end: .halfClose), options)
    }

    private func start(
        _ path: String, _ first: Outgoing, _ options: GRPCCallOptions
    ) throws(GRPCStatus) -> GRPCClientCall {
        let call = try ClientCallCore(core, path, options, isUnary: false)
        call.start(first)
        return GRPCClientCall(call)
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
