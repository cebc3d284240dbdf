import Synchronization

/// A sync that many threads want at the same time: those who ask while one is under way share the next.
final class SharedSync: Sendable {
    private struct State {
        /// The calls up to this one have their answer.
        var answered = 0
        /// Those of them whose sync failed. The system tells of a failure once, so a later sync says nothing of it.
        var failed: [(calls: ClosedRange<Int>, error: any Error)] = []
    }

    private let calls = Atomic(0)
    private let state = Mutex(State())

    /// Returns when what was written before the call is on the disk. Blocks.
    ///
    /// - Parameter sync: the same for all callers; some caller's is run.
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
