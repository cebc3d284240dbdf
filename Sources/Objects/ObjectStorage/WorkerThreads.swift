import Glibc
import SystemIO

/// A few threads for work that blocks or computes for long (reading files, syncing disks, hashing), so that Swift's
/// shared pool stays free and the rest of the process answers at once while gigabytes move.
///
/// Use with `withTaskExecutorPreference`.
///
/// Each thread sleeps on a condition of its own: glibc before 2.41 loses a signal now and then where several wait for one
/// (its bug 25847), and with it a job that nobody else would take. The one that went to sleep last is woken first, as its
/// processor still knows it.
///
/// `@unchecked Sendable`: `queue`, `head` and `sleeping` are only touched under `mutex`.
final class WorkerThreads: TaskExecutor, @unchecked Sendable {
    /// For everything of this module: as many threads as processors and two more, because some of the work waits for disks.
    static let shared = WorkerThreads(count: max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) + 2)

    private typealias Condition = UnsafeMutablePointer<pthread_cond_t>

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var queue: [UnownedJob] = []
    private var head = 0
    private var sleeping: [Condition] = []

    private init(count: Int) {
        pthread_mutex_init(mutex, nil)
        for _ in 0..<count {
            var thread = pthread_t()
            let context = Unmanaged.passRetained(self)
            let code = pthread_create(
                &thread, nil,
                { context in
                    guard let context else { return nil }
                    Unmanaged<WorkerThreads>.fromOpaque(context).takeRetainedValue().work()
                }, context.toOpaque())
            precondition(code == 0, "the system refuses another thread (pthread_create: \(code))")
            pthread_detach(thread)
        }
    }

    /// Runs `body` here, unless the surroundings bring a place to run.
    static func run<Result: Sendable>(
        in surroundings: Surroundings, _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        guard surroundings.executor == nil else { return try await body() }
        return try await withTaskExecutorPreference(shared) { try await body() }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pthread_mutex_lock(mutex)
        queue.append(job)
        let sleeper = sleeping.popLast()
        pthread_mutex_unlock(mutex)
        if let sleeper { pthread_cond_signal(sleeper) }
    }

    private func work() -> Never {
        // As long as the thread, which is as long as the process.
        let wake = Condition.allocate(capacity: 1)
        pthread_cond_init(wake, nil)
        while true {
            pthread_mutex_lock(mutex)
            while head == queue.count {
                sleeping.append(wake)
                repeat { pthread_cond_wait(wake, mutex) } while sleeping.contains(wake)
            }
            let job = queue[head]
            head += 1
            if head == queue.count {
                queue.removeAll(keepingCapacity: true)
                head = 0
            }
            pthread_mutex_unlock(mutex)
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}
