import Glibc

/// A thread for blocking work, which it runs in the order of submission.
///
/// An actor whose `unownedExecutor` is this thread runs all of its methods there instead of on
/// Swift's shared pool, which must not be blocked. The thread starts with the first work and runs
/// until `stop()`; it then completes the work that was submitted before.
///
/// `@unchecked Sendable`: `queue`, `isStarted`, `isStopping` and `identity` are only accessed under
/// `mutex`.
package final class SerialThread: SerialExecutor, @unchecked Sendable {
    private enum Work {
        case job(UnownedJob)
        case closure(@Sendable () -> Void)
    }

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var queue: [Work] = []
    private var isStarted = false
    private var isStopping = false
    private var identity: pthread_t?

    package init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    private func start() {
        let context = Unmanaged.passRetained(self)
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<SerialThread>.fromOpaque(context).takeRetainedValue().runLoop()
                return nil
            }, context.toOpaque())
        precondition(code == 0, "The system refuses another thread (pthread_create: \(code)).")
        pthread_detach(thread)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Ends the thread after the work that was submitted before.
    package func stop() {
        pthread_mutex_lock(mutex)
        isStopping = true
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    /// Traps if not called on this thread. Lets `assumeIsolated` work in closures passed to
    /// `async`.
    package func checkIsolated() {
        pthread_mutex_lock(mutex)
        let isHere = identity.map { pthread_equal($0, pthread_self()) != 0 } ?? false
        pthread_mutex_unlock(mutex)
        precondition(isHere, "Not on the thread that this executor owns.")
    }

    package func enqueue(_ job: consuming ExecutorJob) { add(.job(UnownedJob(job))) }

    /// Runs `body` on the thread without waiting for it.
    package func async(_ body: @escaping @Sendable () -> Void) { add(.closure(body)) }

    /// Runs `body` on the thread and returns its result.
    package func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            add(.closure { continuation.resume(with: Swift.Result { try body() }) })
        }
    }

    private func add(_ work: Work) {
        pthread_mutex_lock(mutex)
        let wasEmpty = queue.isEmpty
        let isFirst = !isStarted
        isStarted = true
        queue.append(work)
        if wasEmpty { pthread_cond_signal(condition) }
        pthread_mutex_unlock(mutex)
        if isFirst { start() }
    }

    private func runLoop() {
        pthread_mutex_lock(mutex)
        identity = pthread_self()
        pthread_mutex_unlock(mutex)
        while true {
            pthread_mutex_lock(mutex)
            while queue.isEmpty, !isStopping { pthread_cond_wait(condition, mutex) }
            let batch = queue
            queue = []
            pthread_mutex_unlock(mutex)
            if batch.isEmpty { return }
            for work in batch {
                switch work {
                case .job(let job): job.runSynchronously(on: asUnownedSerialExecutor())
                case .closure(let body): body()
                }
            }
        }
    }
}
