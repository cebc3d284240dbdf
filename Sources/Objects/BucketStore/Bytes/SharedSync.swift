import Synchronization

/// Lets threads share syncs: all calls that arrive while a sync is in progress share the next one.
final class SharedSync: Sendable {
    private struct State {
        /// The number of the last call that was answered.
        var answered = 0
        /// The answered calls whose sync failed. The system reports a failure once, so a later sync
        /// does not report it again.
        var failed: [(calls: ClosedRange<Int>, error: any Error)] = []
    }

    private let calls = Atomic(0)
    private let state = Mutex(State())

    /// Waits until everything written before the call is on the disk. Blocks.
    ///
    /// - Parameter sync: The sync, the same for all callers. One caller runs it for all that share
    ///   it.
    func run(_ sync: () throws -> Void) throws {
        let call = calls.add(1, ordering: .sequentiallyConsistent).newValue
        try state.withLock { state in
            if state.answered < call {
                let covered = state.answered + 1...calls.load(ordering: .sequentiallyConsistent)
                state.answered = covered.upperBound
                do {
                    try sync()
                } catch {
                    state.failed.append((covered, error))
                }
            }
            if let failure = state.failed.first(where: { $0.calls.contains(call) }) { throw failure.error }
        }
    }
}
