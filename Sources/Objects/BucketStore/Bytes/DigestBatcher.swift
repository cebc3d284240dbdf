import Synchronization
import SystemIO

/// Computes the digests of bodies in memory. Bodies that arrive at the same time are hashed side by
/// side, in a fraction of the processor time.
final class DigestBatcher: Sendable {
    private struct Waiting: Sendable {
        let bytes: [UInt8]
        let wanted: ObjectDigests.Wanted
        let answer: CheckedContinuation<ObjectDigests, Never>
    }

    private struct State {
        var waiting: [Waiting] = []
        /// The number of threads at work.
        var working = 0
    }

    /// The number of bodies that fill the lanes of MD5. Another thread starts when more are waiting
    /// than the running ones take next.
    private static let batchSize = 8

    private let state = Mutex(State())

    /// Returns the digests of `bytes`. Cancellation has no effect.
    func digests(
        of bytes: [UInt8], _ wanted: ObjectDigests.Wanted, on threads: WorkerThreads
    ) async -> ObjectDigests {
        await withCheckedContinuation { answer in
            let begins = state.withLock { state in
                state.waiting.append(Waiting(bytes: bytes, wanted: wanted, answer: answer))
                guard state.waiting.count > Self.batchSize * state.working else { return false }
                state.working += 1
                return true
            }
            if begins { Task(executorPreference: threads) { self.work() } }
        }
    }

    /// Hashes batches until no body is left.
    private func work() {
        while let batch = nextBatch() {
            let digests = ObjectDigests.each(batch.map { ($0.bytes, $0.wanted) })
            for (waiting, digests) in zip(batch, digests) { waiting.answer.resume(returning: digests) }
        }
    }

    private func nextBatch() -> [Waiting]? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.working -= 1
                return nil
            }
            let batch = Array(state.waiting.prefix(Self.batchSize))
            state.waiting.removeFirst(batch.count)
            return batch
        }
    }
}
