import CLinux
import Glibc

/// A timer of the clock that the user sets: a timerfd_create(2) with CLOCK_REALTIME. It also fires
/// when that clock is set, and after a sleep of the machine in which its time has passed. It uses no
/// processor time before.
package final class WallTimer: Sendable {
    private let descriptor: FileDescriptor

    package init() throws(SystemError) {
        let raw = timerfd_create(Int32(CLOCK_REALTIME), Int32(O_NONBLOCK | O_CLOEXEC))
        guard raw >= 0 else { throw .last("make", "a timer") }
        descriptor = FileDescriptor(owning: raw, path: "timer")
    }

    /// Sets the time in seconds since 1970, at once if it has passed; nil stops the timer.
    package func set(_ seconds: Int64?) throws(SystemError) {
        var time = itimerspec()
        // Zero would stop the timer.
        if let seconds { time.it_value.tv_sec = time_t(max(seconds, 1)) }
        let flags = Int32(1 | 2)  // TFD_TIMER_ABSTIME and TFD_TIMER_CANCEL_ON_SET
        guard timerfd_settime(descriptor.rawValue, flags, &time, nil) == 0 else { throw .last("set", "a timer") }
    }

    /// Waits until the timer has fired or the clock was set. Only one caller may wait at a time.
    /// Throws CancellationError when the task is cancelled.
    package func wait() async throws {
        try await Poller.readable(descriptor)
        var count: UInt64 = 0
        // ECANCELED tells that the clock was set; the caller looks at it in any case.
        _ = retry { read(descriptor.rawValue, &count, MemoryLayout.size(ofValue: count)) }
    }
}
