import CLinux
import Glibc
import Synchronization

/// A single thread of the process in epoll_wait(2), which sleeps until an awaited descriptor is
/// readable or writable.
package final class Poller: Sendable {
    private struct Waiting {
        var waiters: [Int32: (id: UInt64, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var nextID: UInt64 = 0
        var followers: [Int32: @Sendable () -> Void] = [:]
    }

    private static let instance = Mutex<Poller?>(nil)

    private let epoll: FileDescriptor
    private let waiting = Mutex(Waiting())

    private init() throws(SystemError) {
        let raw = epoll_create1(O_CLOEXEC)
        guard raw >= 0 else { throw .last("make an epoll", nil) }
        epoll = FileDescriptor(owning: raw, path: "epoll")
    }

    /// Waits until the descriptor is readable or at its end. Throws CancellationError when the task
    /// is cancelled.
    ///
    /// A descriptor can have one waiter at a time; a second one throws `.busy`. The descriptor must
    /// stay open during the wait.
    package static func readable(_ descriptor: borrowing FileDescriptor) async throws {
        try await shared().wait(for: EPOLLIN.rawValue | EPOLLRDHUP.rawValue, on: descriptor.rawValue)
    }

    /// Waits until the descriptor is writable or its peer has closed it, as `readable` does.
    package static func writable(_ descriptor: borrowing FileDescriptor) async throws {
        try await shared().wait(for: EPOLLOUT.rawValue, on: descriptor.rawValue)
    }

    /// Calls `onEvent` whenever a descriptor has one of the events of epoll_ctl(2), until
    /// `stopFollowing`, before which it must not be closed. `onEvent` must be quick and may use no
    /// other part of this type.
    ///
    /// For descriptors that forget an event as soon as it was asked for.
    static func follow(
        _ descriptor: borrowing FileDescriptor, for events: UInt32, onEvent: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        let (poller, raw) = (try shared(), descriptor.rawValue)
        let failure = poller.waiting.withLock { waiting in
            let failure = poller.register(raw, events)
            if failure == nil { waiting.followers[raw] = onEvent }
            return failure
        }
        if let failure { throw failure }
    }

    static func stopFollowing(_ descriptor: borrowing FileDescriptor) {
        let raw = descriptor.rawValue
        let poller = instance.withLock { $0 }
        _ = poller?.waiting.withLock { poller?.remove(raw, from: &$0) }
    }

    private static func shared() throws(SystemError) -> Poller {
        try instance.withLock { instance throws(SystemError) in
            if let poller = instance { return poller }
            let poller = try Poller()
            try WorkerThread.start(named: "poller", poller.run)
            instance = poller
            return poller
        }
    }

    private func wait(for events: UInt32, on descriptor: Int32) async throws {
        let id = waiting.withLock { waiting in
            waiting.nextID += 1
            return waiting.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                add(descriptor, events, id, continuation)
                // A cancellation before `add` found no continuation to resume.
                if Task.isCancelled { cancel(descriptor, id) }
            }
        } onCancel: {
            cancel(descriptor, id)
        }
    }

    private func add(
        _ descriptor: Int32, _ events: UInt32, _ id: UInt64, _ continuation: CheckedContinuation<Void, any Error>
    ) {
        let failure = waiting.withLock { waiting -> SystemError? in
            guard waiting.waiters[descriptor] == nil else {
                return SystemError(.busy, operation: "wait for", path: "descriptor \(descriptor)")
            }
            let failure = register(descriptor, events)
            if failure == nil { waiting.waiters[descriptor] = (id, continuation) }
            return failure
        }
        if let failure { continuation.resume(throwing: failure) }
    }

    private func register(_ descriptor: Int32, _ events: UInt32) -> SystemError? {
        var event = epoll_event()
        event.events = events
        event.data.fd = descriptor
        guard epoll_ctl(epoll.rawValue, EPOLL_CTL_ADD, descriptor, &event) == 0 else {
            return .last("wait for", "descriptor \(descriptor)")
        }
        return nil
    }

    private func cancel(_ descriptor: Int32, _ id: UInt64) {
        let continuation = waiting.withLock { waiting -> CheckedContinuation<Void, any Error>? in
            guard waiting.waiters[descriptor]?.id == id else { return nil }
            return remove(descriptor, from: &waiting)
        }
        continuation?.resume(throwing: CancellationError())
    }

    @discardableResult
    private func remove(
        _ descriptor: Int32, from waiting: inout Waiting
    ) -> CheckedContinuation<Void, any Error>? {
        _ = epoll_ctl(epoll.rawValue, EPOLL_CTL_DEL, descriptor, nil)
        waiting.followers[descriptor] = nil
        return waiting.waiters.removeValue(forKey: descriptor)?.continuation
    }

    private func run() {
        var events = [epoll_event](repeating: epoll_event(), count: 64)
        while true {
            let count = retry { epoll_wait(epoll.rawValue, &events, Int32(events.count), -1) }
            // Only a closed epoll descriptor would fail, and this object keeps it open for the life
            // of the process.
            guard count > 0 else { continue }
            for event in events.prefix(Int(count)) {
                let descriptor = event.data.fd
                waiting.withLock { waiting in
                    guard let follower = waiting.followers[descriptor] else {
                        return remove(descriptor, from: &waiting)
                    }
                    follower()
                    return nil
                }?.resume()
            }
        }
    }
}
