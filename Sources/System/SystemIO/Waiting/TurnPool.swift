import Synchronization

/// Lends a few workers, such as threads, to accounts that take turns; see `TurnSchedule`.
package final class TurnPool: Sendable {
    private struct Waiter {
        let number: UInt64
        let continuation: CheckedContinuation<Int, any Error>
    }

    private let schedule: Mutex<TurnSchedule<Waiter>>
    private let lastNumber = Atomic<UInt64>(0)

    package init(workers: Int) {
        schedule = Mutex(TurnSchedule(workers: workers))
    }

    /// Waits for a worker, and runs `body` with its index; nothing else has that worker meanwhile.
    ///
    /// - Throws: `CancellationError` if the task is cancelled while it waits, and the errors of `body`.
    package nonisolated(nonsending) func run<Result>(
        for account: String?, _ body: (_ worker: Int) async throws -> Result
    ) async throws -> Result {
        let worker = try await start(for: account)
        defer { end(worker, for: account) }
        return try await body(worker)
    }

    private nonisolated(nonsending) func start(for account: String?) async throws -> Int {
        if let worker = schedule.withLock({ $0.start(for: account) }) { return worker }
        let number = lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome = schedule.withLock { schedule -> Result<Int, any Error>? in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if let worker = schedule.start(for: account) { return .success(worker) }
                    schedule.wait(Waiter(number: number, continuation: continuation), for: account)
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            let waiter = schedule.withLock { $0.remove(for: account) { $0.number == number } }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }

    private func end(_ worker: Int, for account: String?) {
        guard let next = schedule.withLock({ $0.end(worker, for: account) }) else { return }
        next.waiter.continuation.resume(returning: next.worker)
    }
}
