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
    private typealias Condition = UnsafeMutablePointer<pthread_cond_t>

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var queue: [UnownedJob] = []
    private var head = 0
    private var sleeping: [Condition] = []
    /// One for each thread; they stay as long as somebody may signal them.
    private var conditions: [Condition] = []
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
        for condition in conditions {
            pthread_cond_destroy(condition)
            condition.deallocate()
        }
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Ends the threads once they have run what was handed in before.
    package func stop() {
        pthread_mutex_lock(mutex)
        isStopping = true
        for sleeper in sleeping { pthread_cond_signal(sleeper) }
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
        // Who wakes does not find the lock taken.
        if let sleeper { pthread_cond_signal(sleeper) }
    }

    private func work() {
        let wake = Condition.allocate(capacity: 1)
        pthread_cond_init(wake, nil)
        pthread_mutex_lock(mutex)
        conditions.append(wake)
        pthread_mutex_unlock(mutex)
        while let job = next(wake) { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// Waits for a job; nil at the end.
    private func next(_ wake: Condition) -> UnownedJob? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while head == queue.count {
            if isStopping { return nil }
            sleeping.append(wake)
            repeat { pthread_cond_wait(wake, mutex) } while sleeping.contains(wake)
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
