import Synchronization

/// Lends a few workers, such as threads, to accounts that take turns; see `TurnSchedule`.
package final class TurnPool: Sendable {
    private let schedule: Mutex<TurnSchedule<CheckedContinuation<Int, Never>>>

    package init(workers: Int) {
        schedule = Mutex(TurnSchedule(workers: workers))
    }

    /// Waits for a worker, and runs `body` with its index; nothing else has that worker meanwhile.
    package nonisolated(nonsending) func run<Result>(
        for account: String?, _ body: (_ worker: Int) async throws -> Result
    ) async throws -> Result {
        let worker = await start(for: account)
        defer { end(worker, for: account) }
        return try await body(worker)
    }

    private nonisolated(nonsending) func start(for account: String?) async -> Int {
        if let worker = schedule.withLock({ $0.start(for: account) }) { return worker }
        return await withCheckedContinuation { continuation in
            let worker = schedule.withLock { schedule in
                let worker = schedule.start(for: account)
                if worker == nil { schedule.wait(continuation, for: account) }
                return worker
            }
            if let worker { continuation.resume(returning: worker) }
        }
    }

    private func end(_ worker: Int, for account: String?) {
        guard let next = schedule.withLock({ $0.end(worker, for: account) }) else { return }
        next.waiter.resume(returning: next.worker)
    }
}
