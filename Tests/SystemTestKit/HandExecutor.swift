import Synchronization

/// An executor that runs its jobs when the test says so, on the thread of the test.
package final class HandExecutor: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])

    package init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    /// Runs jobs until all tasks wait for something else.
    package func drain() {
        while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }

    /// Runs the jobs of a task, and what other threads add to them, until it has ended.
    package func drain<Success: Sendable>(for task: Task<Success, any Error>) async throws -> Success {
        let isEnded = Atomic(false)
        // Not a child of this task, which must end at the time limit of the test.
        Task {
            _ = await task.result
            isEnded.store(true, ordering: .relaxed)
        }
        while !isEnded.load(ordering: .relaxed) {
            try Task.checkCancellation()
            drain()
            await Task.yield()
        }
        return try await task.value
    }
}
