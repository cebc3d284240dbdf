package import GRPCProtocol

/// A call that a server handles.
///
/// The handler's task is cancelled when the client disconnects or cancels, or when the deadline
/// passes; reading and sending then throw `cancelled`. One task may send while another reads.
/// Messages sent by several tasks keep the order of the calls to `send`; only one task at a time
/// may read.
package final class GRPCServerCall: MessageSource {
    private let core: ServerCallCore

    init(_ core: ServerCallCore) { self.core = core }

    /// The method, `/package.Service/Method`.
    package var path: String { core.path }
    /// The client's headers.
    package var metadata: GRPCMetadata { core.metadata }
    /// The caller that the server's `authorize` hook returned; nil on a server without a hook.
    package var caller: (any GRPCCaller)? { core.caller }
    /// The time at which the client stops waiting; nil if it waits without limit.
    package var deadline: ContinuousClock.Instant? { core.deadline }
    /// The client's address in gRPC's form, for example `ipv4:127.0.0.1:50123`.
    ///
    /// Behind a trusted proxy this is the address that the proxy reports in `x-forwarded-for` or
    /// `forwarded`; the port is 0 if the proxy does not report one.
    package var peer: String { core.peer }
    /// Whether the client disconnected or the call failed; false after an ordinary end.
    package var isCancelled: Bool { core.isCancelled }

    /// Registers an action that runs once when the call is cancelled, or at once if it already is.
    ///
    /// The action runs on the thread of the connection and must not block.
    package func onCancel(_ action: @escaping @Sendable () -> Void) {
        core.onCancel(action)
    }

    /// The client's messages up to its half-close. The sequence throws `cancelled` if the call has
    /// ended.
    ///
    /// While they are not read, the transport slows the client down.
    package var requests: GRPCMessages { GRPCMessages(self) }

    /// Returns the client's next message, or nil after its last one.
    ///
    /// - Throws: `cancelled` if the call has ended; `resourceExhausted` for a compressed message
    ///   that is too large, `internal` for a damaged one.
    package nonisolated(nonsending) func next() async throws(GRPCStatus) -> [UInt8]? {
        switch await core.receive() {
        case .message(let message): return try core.decoded(message)
        case .busy: throw GRPCStatus(.failedPrecondition, "Two tasks read from one call.")
        case .end:
            if core.isCancelled { throw Self.ended }
            return nil
        }
    }

    /// Sends the headers ahead of the first message. Without this call they are sent with that
    /// message.
    ///
    /// - Throws: `cancelled` if the call has ended, `invalidArgument` for illegal metadata,
    ///   `failedPrecondition` if the headers were sent before.
    package nonisolated(nonsending) func sendHeaders(_ headers: GRPCMetadata = [:]) async throws(GRPCStatus) {
        try headers.validate()
        if core.hasHeaders { throw GRPCStatus(.failedPrecondition, "The headers were sent before.") }
        try await send(Outgoing(headers: headers))
    }

    /// Sends a message, and returns when the transport has room for the next one.
    ///
    /// - Throws: `cancelled` if the call has ended, `failedPrecondition` after `finish`,
    ///   `resourceExhausted` if the client leaves too many bytes unread, on this call or on others.
    package nonisolated(nonsending) func send(_ message: [UInt8]) async throws(GRPCStatus) {
        try await send(Outgoing(message: message))
    }

    /// Ends the call after the messages that wait to be sent. Does not wait; a second call has no
    /// effect.
    ///
    /// If nothing was sent yet, the headers are sent in a frame of their own, because clients take
    /// a status without headers for a refusal by the transport and retry the call. With illegal
    /// trailers the call ends with `internal` instead.
    package func finish(_ status: GRPCStatus, trailers: GRPCMetadata = [:]) {
        if !core.hasHeaders { core.enqueue(Outgoing(headers: [:])) }
        core.finish(status, trailers: trailers)
    }

    private nonisolated(nonsending) func send(_ batch: Outgoing) async throws(GRPCStatus) {
        if core.isSendingEnded { throw GRPCStatus(.failedPrecondition, "The call was finished before.") }
        guard !core.isCancelled else { throw Self.ended }
        switch await core.send(batch) {
        case .accepted: break
        case .dropped: throw Self.ended
        case .refused: throw ServerCallCore.tooMuchUnread
        }
    }

    private static let ended = GRPCStatus(.cancelled, "The call has ended.")
}
