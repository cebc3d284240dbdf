import Synchronization
import SystemIO

/// A directory that many threads put files into: those who want its names on the disk at the same time share one sync.
final class SharedDirectory: Sendable {
    private struct State {
        /// The calls up to this one have their answer.
        var answered = 0
        /// Those of them whose sync failed. The system tells of a failure once, so a later sync says nothing of it.
        var failed: [(calls: ClosedRange<Int>, error: any Error)] = []
    }

    let path: String
    private let calls = Atomic(0)
    private let state = Mutex(State())

    init(path: String) { self.path = path }

    /// Returns when each name that was there before the call is on the disk. Blocks.
    func synchronize() throws {
        let call = calls.add(1, ordering: .sequentiallyConsistent).newValue
        try state.withLock { state in
            if state.answered < call {
                let covered = state.answered + 1...calls.load(ordering: .sequentiallyConsistent)
                state.answered = covered.upperBound
                do {
                    try Directory(path: path).synchronize()
                } catch {
                    state.failed.append((covered, error))
                }
            }
            if let failure = state.failed.first(where: { $0.calls.contains(call) }) { throw failure.error }
        }
    }
}
