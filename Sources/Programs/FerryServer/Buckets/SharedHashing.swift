import Synchronization
import SystemIO

/// The digests of bodies that lie in memory. Those that wait at the same time are hashed side by side, which takes a fraction of the
/// processor's time.
final class SharedHashing: Sendable {
    private struct Waiting: Sendable {
        let bytes: [UInt8]
        let wanted: ObjectDigests.Wanted
        let answer: CheckedContinuation<ObjectDigests, Never>
    }

    private struct State {
        var waiting: [Waiting] = []
        /// Threads at work.
        var working = 0
    }

    /// So many fill the lanes of MD5. Another thread begins where more wait than those at work take next.
    private static let most = 8

    private let state = Mutex(State())

    /// Is not cancelled.
    func digests(
        of bytes: [UInt8], _ wanted: ObjectDigests.Wanted, on threads: WorkerThreads
    ) async -> ObjectDigests {
        await withCheckedContinuation { answer in
            let begins = state.withLock { state in
                state.waiting.append(Waiting(bytes: bytes, wanted: wanted, answer: answer))
                guard state.waiting.count > Self.most * state.working else { return false }
                state.working += 1
                return true
            }
            if begins { Task(executorPreference: threads) { self.work() } }
        }
    }

    /// Until nobody waits.
    private func work() {
        while let some = next() {
            let digests = ObjectDigests.each(some.map { ($0.bytes, $0.wanted) })
            for (waiting, digests) in zip(some, digests) { waiting.answer.resume(returning: digests) }
        }
    }

    private func next() -> [Waiting]? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.working -= 1
                return nil
            }
            let some = Array(state.waiting.prefix(Self.most))
            state.waiting.removeFirst(some.count)
            return some
        }
    }
}
