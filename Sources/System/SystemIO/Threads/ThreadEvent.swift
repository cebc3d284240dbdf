import CLinux
import Glibc

/// Lets one thread wait for another, for a limited time. It blocks the thread, so it must not be
/// used on Swift's shared pool.
///
/// `@unchecked Sendable`: `isSet` is only accessed under `mutex`.
package final class ThreadEvent: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var isSet = false

    package init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // A change of the wall clock must not lengthen a wait.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Ends the wait of the waiting thread; without one, the next wait ends at once.
    package func set() {
        pthread_mutex_lock(mutex)
        isSet = true
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    /// Waits until `set` is called, but no longer than `limit`. Returns whether it was called since
    /// the last wait.
    @discardableResult
    package func wait(atMost limit: Duration) -> Bool {
        var end = timespec()
        clock_gettime(CLOCK_MONOTONIC, &end)
        let (seconds, attoseconds) = max(limit, .zero).components
        let nanoseconds = end.tv_nsec + Int(attoseconds / 1_000_000_000)
        end.tv_sec = end.tv_sec.saturatingAdded(to: Int(clamping: seconds)).saturatingAdded(
            to: nanoseconds / 1_000_000_000)
        end.tv_nsec = nanoseconds % 1_000_000_000
        pthread_mutex_lock(mutex)
        defer {
            isSet = false
            pthread_mutex_unlock(mutex)
        }
        while !isSet {
            if pthread_cond_timedwait(condition, mutex, &end) == ETIMEDOUT { break }
        }
        return isSet
    }
}
