import CLinux
import Glibc

/// The signals sent to this process, as an endless sequence for one reader.
///
/// While the value exists, the given signals have no other effect; afterwards they have their
/// default effect. If two values handle the same signal, the newer one receives it.
package final class SignalEvents: AsyncSequence, Sendable {
    package typealias Element = Signal

    private let signals: [Signal]
    private let reading: FileDescriptor
    private let writing: FileDescriptor

    package init(_ signals: [Signal]) throws(SystemError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw .last("make a pipe", nil) }
        reading = FileDescriptor(owning: ends[0], path: "signals")
        writing = FileDescriptor(owning: ends[1], path: "signals")
        self.signals = signals.filter { (1..<65).contains($0.number) }
        // Initialized here, because a signal handler must not do it.
        _ = stopSemaphore
        for end in ends {
            ferry_set_close_on_exec(end)
            // Neither a handler nor a reader may ever block. A full pipe already wakes the reader.
            ferry_set_nonblocking(end, 1)
        }
        for signal in self.signals {
            signalPipes[Int(signal.number)] = writing.rawValue
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { number in
                // Restricted to what signal-safety(7) allows: no allocation, no lock, errno
                // preserved.
                let before = errno
                if number == SIGTERM || number == SIGINT { sem_post(stopSemaphore) }
                var byte = UInt8(truncatingIfNeeded: number)
                _ = Glibc.write(signalPipes[Int(number)], &byte, 1)
                errno = before
            }
            action.sa_flags = SA_RESTART
            guard sigaction(signal.number, &action, nil) == 0 else { throw .last("handle", "\(signal)") }
        }
    }

    deinit {
        for signal in signals where signalPipes[Int(signal.number)] == writing.rawValue {
            _ = Glibc.signal(signal.number, SIG_DFL)
            signalPipes[Int(signal.number)] = -1
        }
    }

    package func makeAsyncIterator() -> Iterator { Iterator(events: self) }

    package struct Iterator: AsyncIteratorProtocol {
        let events: SignalEvents

        /// Waits for the next signal. Never returns nil; throws CancellationError when the task is
        /// cancelled.
        package func next() async throws -> Signal? {
            while true {
                var byte: UInt8 = 0
                let count = retry { Glibc.read(events.reading.rawValue, &byte, 1) }
                if count == 1 { return Signal(Int32(byte)) }
                guard errno == EAGAIN else { throw SystemError.last("read", "signals") }
                try await Poller.readable(events.reading)
            }
        }
    }
}

/// Ends a process that does not stop after it was asked to.
///
/// Uses a thread of its own, which depends on no pool, lock or actor of the process.
package enum StopDeadline {
    /// Starts the thread that enforces the deadline.
    ///
    /// - Parameters:
    ///   - limit: the time allowed after the first SIGTERM or SIGINT that a `SignalEvents`
    ///     receives.
    ///   - overdue: called when the time is over, to log the reason. After at most one more second
    ///     the process exits with status 1.
    package static func arm(after limit: Duration, overdue: @escaping @Sendable () -> Void) throws(SystemError) {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(Deadline(seconds: UInt32(limit.components.seconds), overdue: overdue))
        let status = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                let deadline = Unmanaged<Deadline>.fromOpaque(context).takeRetainedValue()
                while sem_wait(stopSemaphore) != 0 {}
                // A signal delivered to this thread, such as a second Ctrl-C, shortens the sleep.
                var left = deadline.seconds
                while left > 0 { left = sleep(left) }
                // `overdue` may itself block; SIGALRM then ends the process.
                signal(SIGALRM, SIG_DFL)
                alarm(1)
                deadline.overdue()
                _exit(1)
            }, context.toOpaque())
        guard status == 0 else {
            context.release()
            throw SystemError(errno: status, operation: "start a thread")
        }
        pthread_detach(thread)
    }

    private final class Deadline: Sendable {
        let seconds: UInt32
        let overdue: @Sendable () -> Void

        init(seconds: UInt32, overdue: @escaping @Sendable () -> Void) {
            self.seconds = seconds
            self.overdue = overdue
        }
    }
}

/// The semaphore that the signal handler posts, which signal-safety(7) allows at any moment.
nonisolated(unsafe) private let stopSemaphore: UnsafeMutablePointer<sem_t> = {
    let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    sem_init(semaphore, 0, 0)
    return semaphore
}()

/// The descriptor that the handler of each signal writes to; -1 for none.
///
/// Raw memory, because a handler must not access storage that Swift's runtime guards.
nonisolated(unsafe) private let signalPipes: UnsafeMutablePointer<Int32> = {
    let pipes = UnsafeMutablePointer<Int32>.allocate(capacity: 65)
    pipes.initialize(repeating: -1, count: 65)
    return pipes
}()
