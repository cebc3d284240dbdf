package import GRPCProtocol

/// A call under way with any number of messages in each direction.
///
/// One task may send while another reads. Sends of several tasks go out in the order in which they were called; only
/// one task at a time may read. Cancelling a task that waits in any of the functions cancels the call, and so does
/// dropping the last reference before the call has ended.
package final class GRPCClientCall: MessageSource {
    private let core: ClientCallCore

    init(_ core: ClientCallCore) { self.core = core }

    deinit { core.cancel() }

    /// Sends a message; returns when the transport has room for the next one.
    /// - Throws: the status with which the call ended; `failedPrecondition` after `finish()`, or if the server ended
    ///   the call with `ok` before it took the message.
    package nonisolated(nonsending) func send(_ message: [UInt8]) async throws(GRPCStatus) {
        if core.isSendingEnded { throw GRPCStatus(.failedPrecondition, "A message was sent after the last one.") }
        if core.end == nil, await cancellable({ await core.send(Outgoing(message: message)) }) { return }
        let end = await cancellable { await core.waitForEnd() }
        if end.status.code != .ok { throw end.status }
        throw GRPCStatus(.failedPrecondition, "The server ended the call before it took the message.")
    }

    /// Says that no more messages will come. Does not wait; a second time changes nothing.
    package func finish() {
        core.enqueue(Outgoing(end: .halfClose))
    }

    /// Ends the call at once with `cancelled` on both sides. A call that has ended stays as it is.
    package func cancel() {
        core.cancel()
    }

    /// The server's messages: ends after the last one if the status is `ok` and throws the status otherwise. The
    /// transport slows the server down while they are not read.
    package var responses: GRPCMessages { GRPCMessages(self) }

    /// The next message, or nil when the call has ended with `ok`.
    /// - Throws: the status with which the call ended otherwise.
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

    /// The only message of a call whose server answers once.
    /// - Throws: the call's status unless it is `ok`; `internal` if there was no message or more than one.
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

    /// What the server sent ahead of its messages; empty if the call ended without.
    package nonisolated(nonsending) func headers() async -> GRPCMetadata {
        await cancellable { await core.waitForHeaders() }
    }

    /// How the call ended. Comes only after all messages have arrived, or at once when the call fails.
    package nonisolated(nonsending) func status() async -> GRPCStatus {
        await cancellable { await core.waitForEnd().status }
    }

    /// What the server sent after its messages; waits like `status()`.
    package nonisolated(nonsending) func trailers() async -> GRPCMetadata {
        await cancellable { await core.waitForEnd().trailers }
    }

    private nonisolated(nonsending) func cancellable<Result>(
        _ body: nonisolated(nonsending) () async -> Result
    ) async -> Result {
        await withTaskCancellationHandler(operation: body, onCancel: { core.cancel() })
    }
}
