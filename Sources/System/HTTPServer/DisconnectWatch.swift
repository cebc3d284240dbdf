import CLinux
import Glibc
import HTTPMessages
import SystemIO

/// Reports when a client closes its side of a connection, through an epoll set of its own.
///
/// libmicrohttpd does not look at a connection while its handler works.
///
/// `@unchecked Sendable`: after initialization it is used on the loop's thread only.
final class DisconnectWatch: NetworkSource, @unchecked Sendable {
    let descriptor: Int32
    private let loop: NetworkLoop
    private var onHangUp: (UInt64) -> Void = { _ in }

    init(on loop: NetworkLoop) throws {
        self.loop = loop
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else {
            throw HTTPError(.cannotListen, "No descriptor is left: \(errorText(errno)).")
        }
    }

    deinit { _ = Glibc.close(descriptor) }

    // MARK: On the loop's thread, or before it runs

    /// Starts watching.
    ///
    /// - Parameter onHangUp: Called with a connection's id when its client closes its side.
    /// - Returns: Whether the loop accepted the epoll set.
    func open(_ onHangUp: @escaping (UInt64) -> Void) -> Bool {
        self.onHangUp = onHangUp
        return loop.watch(self)
    }

    /// Watches a connection until its descriptor is closed.
    func add(_ descriptor: Int32, id: UInt64) {
        // Edge-triggered and without EPOLLIN: data causes no event, the end causes one.
        var event = epoll_event(events: EPOLLRDHUP.rawValue | EPOLLET.rawValue, data: epoll_data_t(u64: id))
        _ = epoll_ctl(self.descriptor, EPOLL_CTL_ADD, descriptor, &event)
    }

    func ready(toRead: Bool, toWrite: Bool) {
        let capacity: Int32 = 32
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: Int(capacity)) { events in
            let count = epoll_wait(descriptor, events.baseAddress, capacity, 0)
            for event in events.prefix(max(0, Int(count))) { onHangUp(event.data.u64) }
        }
    }

    func send() {}

    func check(at now: ContinuousClock.Instant) {}

    func close() { loop.forget(self) }
}
