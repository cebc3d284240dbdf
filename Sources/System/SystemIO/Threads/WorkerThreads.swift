import Glibc

/// Threads for work that blocks or computes for long (reading files, syncing disks, hashing), so that Swift's
/// shared pool stays free and the rest of the process answers at once while gigabytes move.
///
/// Use with `run`, or `withTaskExecutorPreference`.
///
/// Each thread sleeps on a condition of its own: glibc before 2.41 loses a signal now and then where several wait for one
/// (its bug 25847), and with it a job that nobody else would take. The one that went to sleep last is woken first, as its
/// processor still knows it.
///
/// `@unchecked Sendable`: all variables are only touched under `mutex`.
package final class WorkerThreads: TaskExecutor, @unchecked Sendable {
    /// What a thread sleeps on. Owned by who wakes it, too: by then the job may have run, and thread and executor be gone.
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

    /// - Parameter name: up to 15 bytes, as tools show it.
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

    /// Ends the threads once they have run what was handed in before.
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
        // Behind the lock, which who wakes wants first.
        if let sleeper { pthread_cond_signal(sleeper.condition) }
    }

    private func work() {
        let sleeper = Sleeper()
        while let job = next(sleeper) { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// Waits for a job; nil at the end.
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
