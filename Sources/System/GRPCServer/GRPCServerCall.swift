package import GRPCProtocol

/// A call that a server handles.
///
/// The handler's task is cancelled when the client goes away, cancels, or its deadline passes; reading and sending then
/// throw `cancelled`. One task may send while another reads. Sends of several tasks go out in the order in which they
/// were called; only one task at a time may read.
package final class GRPCServerCall: MessageSource {
    private let core: ServerCallCore

    init(_ core: ServerCallCore) { self.core = core }

    /// The method, `/package.Service/Method`.
    package var path: String { core.path }
    /// What the client sent ahead of its messages.
    package var metadata: GRPCMetadata { core.metadata }
    /// What the server's `authorize` hook returned for the call; nil on a server without one.
    package var caller: (any GRPCCaller)? { core.caller }
    /// When the client stops waiting; nil if it never does.
    package var deadline: ContinuousClock.Instant? { core.deadline }
    /// The client's address as the transport writes it, for example `ipv4:127.0.0.1:50123`.
    ///
    /// Behind a trusted proxy this is the address that the proxy names in `x-forwarded-for` or
    /// `forwarded`; its port is 0 if the proxy does not tell it.
    package var peer: String { core.peer }
    /// Whether the client went away or the call failed; false after an ordinary end.
    package var isCancelled: Bool { core.isCancelled }

    /// Runs an action once when the call is cancelled, at once if it is already. It runs on the thread of the
    /// connection and must not wait.
    package func onCancel(_ action: @escaping @Sendable () -> Void) {
        core.onCancel(action)
    }

    /// The client's messages up to its half-close; throws `cancelled` if the call has ended. The transport slows the
    /// client down while they are not read.
    package var requests: GRPCMessages { GRPCMessages(self) }

    /// The client's next message, or nil after its last one.
    /// - Throws: `cancelled` if the call has ended; `resourceExhausted` or `internal` for a compressed message that is too large, or
    ///   no such thing.
    package nonisolated(nonsending) func next() async throws(GRPCStatus) -> [UInt8]? {
        switch await core.receive() {
        case .message(let message): return try core.decoded(message)
        case .busy: throw GRPCStatus(.failedPrecondition, "Two tasks read from one call.")
        case .end:
            if core.isCancelled { throw Self.ended }
            return nil
        }
    }

    /// Sends the headers ahead of the first message; without this they go out with it.
    /// - Throws: `cancelled` if the call has ended, `invalidArgument` for illegal metadata, `failedPrecondition` if the
    ///   headers were sent before.
    package nonisolated(nonsending) func sendHeaders(_ headers: GRPCMetadata = [:]) async throws(GRPCStatus) {
        try headers.validate()
        if core.hasHeaders { throw GRPCStatus(.failedPrecondition, "The headers were sent before.") }
        try await send(Outgoing(headers: headers))
    }

    /// Sends a message; returns when the transport has room for the next one.
    /// - Throws: `cancelled` if the call has ended, `failedPrecondition` after `finish`, `resourceExhausted` if the client
    ///   leaves too many bytes unread, on this call or on others.
    package nonisolated(nonsending) func send(_ message: [UInt8]) async throws(GRPCStatus) {
        try await send(Outgoing(message: message))
    }

    /// Ends the call behind the messages that wait to be sent. Does not wait; a second time changes nothing.
    ///
    /// The headers go ahead on their own if nothing was sent yet, because clients take a status without headers for a
    /// refusal of the transport and retry it. Illegal trailers end the call with `internal` instead.
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
