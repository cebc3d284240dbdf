package import GRPCProtocol

/// A call in progress with any number of messages in each direction.
///
/// One task may send while another reads. Messages sent by several tasks keep the order of the
/// calls to `send`; only one task at a time may read. Cancelling a task that waits in any of the
/// methods cancels the call, and so does releasing the last reference before the call has ended.
package final class GRPCClientCall: MessageSource {
    private let core: ClientCallCore

    init(_ core: ClientCallCore) { self.core = core }

    deinit { core.cancel() }

    /// Sends a message, and returns when the transport has room for the next one.
    ///
    /// - Throws: The status with which the call ended; `failedPrecondition` after `finish()`, or if
    ///   the server ended the call with `ok` before it took the message.
    package nonisolated(nonsending) func send(_ message: [UInt8]) async throws(GRPCStatus) {
        if core.isSendingEnded { throw GRPCStatus(.failedPrecondition, "A message was sent after the last one.") }
        if core.end == nil, await cancellable({ await core.send(Outgoing(message: message)) }) { return }
        let end = await cancellable { await core.waitForEnd() }
        if end.status.code != .ok { throw end.status }
        throw GRPCStatus(.failedPrecondition, "The server ended the call before it took the message.")
    }

    /// Ends the client's messages. Does not wait; a second call has no effect.
    package func finish() {
        core.enqueue(Outgoing(end: .halfClose))
    }

    /// Ends the call at once with `cancelled` on both sides. Has no effect on a call that has
    /// ended.
    package func cancel() {
        core.cancel()
    }

    /// The server's messages. The sequence ends after the last one if the status is `ok`, and
    /// throws the status otherwise.
    ///
    /// While they are not read, the transport slows the server down.
    package var responses: GRPCMessages { GRPCMessages(self) }

    /// Returns the next message, or nil when the call has ended with `ok`.
    ///
    /// - Throws: The status with which the call ended, unless it is `ok`.
    package nonisolated(nonsending) func next() async throws(GRPCStatus) -> [UInt8]? {
        switch await cancellable({ await core.receive() }) {
        case .message(let message): return try core.decoded(message)
        case .busy: throw GRPCStatus(.failedPrecondition, "Two tasks read from one call.")
        case .end:
            let end = await cancellable { await core.waitForEnd() }
            if end.status.code != .ok { throw end.status }
            return nil
        }
    }

    /// Returns the only message of a call whose server answers once.
    ///
    /// - Throws: The call's status unless it is `ok`; `internal` if there was no message or more
    ///   than one.
    package nonisolated(nonsending) func response() async throws(GRPCStatus) -> [UInt8] {
        guard let message = try await next() else {
            throw GRPCStatus(.internal, "The server answered without a message.")
        }
        guard try await next() == nil else {
            cancel()
            throw GRPCStatus(.internal, "The server answered with more than one message.")
        }
        return message
    }

    /// Returns the server's headers; empty if the call ended without any.
    package nonisolated(nonsending) func headers() async -> GRPCMetadata {
        await cancellable { await core.waitForHeaders() }
    }

    /// Returns the status of the call, after all messages have arrived or as soon as the call
    /// fails.
    package nonisolated(nonsending) func status() async -> GRPCStatus {
        await cancellable { await core.waitForEnd().status }
    }

    /// Returns the server's trailers. Waits like `status()`.
    package nonisolated(nonsending) func trailers() async -> GRPCMetadata {
        await cancellable { await core.waitForEnd().trailers }
    }

    private nonisolated(nonsending) func cancellable<Result>(
        _ body: nonisolated(nonsending) () async -> Result
    ) async -> Result {
        await withTaskCancellationHandler(operation: body, onCancel: { core.cancel() })
    }
}
