import Glibc

/// Threads for work that blocks or computes for long (reading files, syncing disks, hashing), used
/// with `run` or `withTaskExecutorPreference`.
///
/// Swift's shared pool stays free, so that the rest of the process responds at once while gigabytes
/// are transferred.
///
/// Each thread sleeps on a condition of its own. With a shared condition, glibc before 2.41
/// occasionally loses a signal (its bug 25847), and the queued job would wait until the next one
/// arrives. The thread that went to sleep last is woken first, because its data is most likely
/// still in a processor's cache.
///
/// `@unchecked Sendable`: all variables are only accessed under `mutex`.
package final class WorkerThreads: TaskExecutor, @unchecked Sendable {
    /// The condition that a sleeping thread waits on.
    ///
    /// The thread that signals it holds a reference too: by then the job may have run, and the
    /// woken thread and the executor may be gone.
    private final class Sleeper {
        let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

        init() { pthread_cond_init(condition, nil) }

        deinit {
            pthread_cond_destroy(condition)
            condition.deallocate()
        }
    }

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var queue: [UnownedJob] = []
    private var head = 0
    private var sleeping: [Sleeper] = []
    private var isStopping = false

    /// Creates the threads.
    ///
    /// - Parameter name: at most 15 bytes, shown by tools such as `ps`.
    package init(count: Int, named name: String) throws(SystemError) {
        pthread_mutex_init(mutex, nil)
        do throws(SystemError) {
            for _ in 0..<count { try WorkerThread.start(named: name, work) }
        } catch {
            stop()
            throw error
        }
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Ends the threads after the jobs that were enqueued before.
    package func stop() {
        pthread_mutex_lock(mutex)
        isStopping = true
        for sleeper in sleeping { pthread_cond_signal(sleeper.condition) }
        sleeping = []
        pthread_mutex_unlock(mutex)
    }

    /// Runs `body`, which may block, on one of the threads.
    package func run<Result: Sendable>(_ body: @Sendable () throws -> Result) async throws -> Result {
        try await withTaskExecutorPreference(self) { try body() }
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pthread_mutex_lock(mutex)
        queue.append(job)
        let sleeper = sleeping.popLast()
        pthread_mutex_unlock(mutex)
        // Signalled after the lock is released, because the woken thread needs the lock first.
        if let sleeper { pthread_cond_signal(sleeper.condition) }
    }

    private func work() {
        let sleeper = Sleeper()
        while let job = next(sleeper) { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// Waits for a job. Returns nil when the executor has stopped and the queue is empty.
    private func next(_ sleeper: Sleeper) -> UnownedJob? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while head == queue.count {
            if isStopping { return nil }
            sleeping.append(sleeper)
            repeat { pthread_cond_wait(sleeper.condition, mutex) } while sleeping.contains { $0 === sleeper }
        }
        let job = queue[head]
        head += 1
        if head == queue.count {
            queue.removeAll(keepingCapacity: true)
            head = 0
        }
        return job
    }
}
