/// What a transfer does, apart from being started and stopped.
struct TransferWork<Outcome: Sendable>: Sendable {
    /// Goes from the beginning, skipping what is done. Called again after a pause or a failure; ends when its task is
    /// cancelled.
    var run: @Sendable (TransferProgress) async throws -> Outcome
    /// Takes back what `run` has left behind, as far as nobody else can need it.
    var clean: @Sendable () async -> Void
}
