import CGRPC
import Synchronization

/// A channel of the core and its open calls.
final class ChannelCore: Sendable {
    private struct State {
        var channel: CorePointer?
        /// Each is alive, as a call takes itself out before it lets go of its pointer.
        var calls: Set<CorePointer> = []
    }

    let queue = CompletionQueue.shared()
    private let state: Mutex<State>

    init(target: String, configuration: GRPCChannelConfiguration) {
        let credentials = Self.credentials(configuration.security)
        let channel = Self.arguments(configuration, target: target).withCoreArguments {
            grpc_channel_create(target, credentials, $0)
        }
        grpc_channel_credentials_release(credentials)
        state = Mutex(State(channel: channel.map(CorePointer.init)))
    }

    deinit { close() }

    /// Opens a call that the caller must hand to `ended` before it drops its reference.
    /// - Throws: `cancelled` if the channel is closed, `deadlineExceeded` if no time is left to begin with.
    func open(_ path: String, _ options: GRPCCallOptions) throws(GRPCStatus) -> OpaquePointer {
        try options.metadata.validate()
        if let timeout = options.timeout, timeout <= .zero {
            // The core looks at its timers now and then: on loopback the answer may be there before.
            throw GRPCStatus(.deadlineExceeded, "The deadline had passed before the call began.")
        }
        let deadline =
            if let timeout = options.timeout {
                gpr_time_add(
                    gpr_now(GPR_CLOCK_MONOTONIC),
                    gpr_time_from_millis(Int64(timeout.wholeMilliseconds), GPR_TIMESPAN))
            } else {
                gpr_inf_future(GPR_CLOCK_MONOTONIC)
            }
        let method = Message.slice(path)
        defer { grpc_slice_unref(method) }
        let call = state.withLock { state -> CorePointer? in
            guard let channel = state.channel?.pointer,
                let call = grpc_channel_create_call(channel, nil, 0, queue.queue, method, nil, deadline, nil)
            else { return nil }
            let pointer = CorePointer(pointer: call)
            state.calls.insert(pointer)
            return pointer
        }
        guard let call else { throw GRPCStatus(.cancelled, "The channel is closed.") }
        return call.pointer
    }

    func ended(_ call: OpaquePointer) {
        let pointer = CorePointer(pointer: call)
        state.withLock { _ = $0.calls.remove(pointer) }
    }

    func close() {
        state.withLock { state in
            guard let channel = state.channel?.pointer else { return }
            for call in state.calls { grpc_call_cancel(call.pointer, nil) }
            state.channel = nil
            grpc_channel_destroy(channel)
        }
    }

    func resetBackoff() {
        state.withLock { if let channel = $0.channel?.pointer { grpc_channel_reset_connect_backoff(channel) } }
    }

    private static func credentials(_ security: GRPCChannelConfiguration.Security) -> OpaquePointer? {
        switch security {
        case .plaintext: cgrpc_insecure_credentials()
        case .tls(let roots, _): grpc_ssl_credentials_create_ex(roots, nil, nil, nil)
        }
    }

    private static func arguments(_ configuration: GRPCChannelConfiguration, target: String) -> CoreArguments {
        var arguments = CoreArguments()
        arguments.set(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, limit: configuration.maximumReceiveSize)
        arguments.set(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, limit: configuration.maximumSendSize)
        arguments.set(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, configuration.reconnectBackoff.lowerBound)
        arguments.set(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, configuration.reconnectBackoff.upperBound)
        arguments.set(configuration.keepalive, withoutCalls: configuration.keepsAliveWithoutCalls)
        if let userAgent = configuration.userAgent { arguments.set(GRPC_ARG_PRIMARY_USER_AGENT_STRING, userAgent) }
        if case .tls(_, let serverName?) = configuration.security {
            arguments.set(GRPC_SSL_TARGET_NAME_OVERRIDE_ARG, serverName)
        }
        // Callers retry by themselves; the core's retries would copy each message and delay the loss of a connection.
        arguments.set(GRPC_ARG_ENABLE_RETRIES, false)
        // One channel is one connection, not shared with other channels to the same target.
        arguments.set(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, true)
        arguments.set(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, true)
        arguments.set(GRPC_ARG_ENABLE_CHANNELZ, false)
        // What a server may send ahead of a slow reader. The core's own estimate of the line grows to 32 MiB for one near by.
        arguments.set(GRPC_ARG_HTTP2_BDP_PROBE, false)
        arguments.set(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 1 << 20)
        if isLoopback(target) { arguments.set(GRPC_ARG_ENABLE_HTTP_PROXY, false) }
        return arguments
    }

    /// `http_proxy` in the environment is not meant for this machine's own services.
    private static func isLoopback(_ target: String) -> Bool {
        ["localhost:", "127.", "[::1]:"].contains { target.hasPrefix($0) }
    }
}
