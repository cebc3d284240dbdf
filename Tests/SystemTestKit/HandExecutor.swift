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
        async let end: Void = {
            _ = await task.result
            isEnded.store(true, ordering: .relaxed)
        }()
        while !isEnded.load(ordering: .relaxed) {
            drain()
            await Task.yield()
        }
        await end
        return try await task.value
    }
}
