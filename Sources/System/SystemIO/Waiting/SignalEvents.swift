import CLinux
import Glibc

/// The signals sent to this process, as an endless sequence for one reader. While the value lives, the signals named
/// have no other effect; afterwards they have their default one. Where two values name one signal, the newer gets it.
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
        for end in ends {
            ferry_set_close_on_exec(end)
            // Neither a handler nor a reader may ever wait; a full pipe already wakes the reader.
            ferry_set_nonblocking(end, 1)
        }
        for signal in self.signals {
            signalPipes[Int(signal.number)] = writing.rawValue
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { number in
                // Only what signal-safety(7) allows: no allocation, no lock, errno as it was.
                let before = errno
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

        /// Never nil; throws CancellationError when the task is cancelled.
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

/// Where the handler of each signal writes, -1 for nowhere. Raw memory, since a handler may touch nothing that
/// Swift's runtime guards.
nonisolated(unsafe) private let signalPipes: UnsafeMutablePointer<Int32> = {
    let pipes = UnsafeMutablePointer<Int32>.allocate(capacity: 65)
    pipes.initialize(repeating: -1, count: 65)
    return pipes
}()
