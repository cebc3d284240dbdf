/// The work of a transfer, without starting and stopping.
struct TransferWork<Outcome: Sendable>: Sendable {
    /// Runs the transfer from the beginning, but skips what is done already. It is called again
    /// after a pause or a failure, and ends when its task is cancelled.
    var run: @Sendable (TransferProgress) async throws -> Outcome
    /// Deletes what `run` has left behind, unless another transfer may need it.
    var clean: @Sendable () async -> Void
}
