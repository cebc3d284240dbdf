import CMicroHTTPD
import Glibc
import Synchronization

/// Tells when a client hangs up. libmicrohttpd does not look at a connection whose handler is at work, so a second
/// epoll set does, on a thread that sleeps until then.
final class DisconnectWatch: Sendable {
    private struct State {
        var epoll: Int32 = -1
        var wake: Int32 = -1
        var isRunning = false
    }

    /// Marks the descriptor that ends the thread; connections count from 1.
    private static let wakeID: UInt64 = 0

    private let state = Mutex(State())

    /// Calls `onHangUp` with a connection's id when that client closes its side.
    func start(_ onHangUp: @escaping @Sendable (UInt64) -> Void) throws {
        let isStarted = state.withLock { state in
            state.epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
            state.wake = eventfd(0, Int32(EFD_CLOEXEC))
            guard state.epoll >= 0, state.wake >= 0 else { return false }
            let (epoll, wake) = (state.epoll, state.wake)
            var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: Self.wakeID))
            guard epoll_ctl(epoll, EPOLL_CTL_ADD, wake, &event) == 0 else { return false }
            state.isRunning = WorkerThread.start(named: "http-hangups") { self.run(epoll, wake, onHangUp) }
            return state.isRunning
        }
        if !isStarted { throw HTTPError(.cannotListen, "No descriptor or thread is left: \(errorText(errno)).") }
    }

    /// Watches a connection until its descriptor is closed.
    func add(_ descriptor: Int32, id: UInt64) {
        let epoll = state.withLock { $0.epoll }
        // Edge-triggered and without EPOLLIN: no event for data, one for the end.
        var event = epoll_event(events: EPOLLRDHUP.rawValue | EPOLLET.rawValue, data: epoll_data_t(u64: id))
        _ = epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event)
    }

    func stop() {
        state.withLock { state in
            if state.isRunning {
                // The thread closes both.
                eventfd_write(state.wake, 1)
            } else {
                if state.epoll >= 0 { close(state.epoll) }
                if state.wake >= 0 { close(state.wake) }
            }
            state = State()
        }
    }

    private func run(_ epoll: Int32, _ wake: Int32, _ onHangUp: @Sendable (UInt64) -> Void) {
        defer {
            close(epoll)
            close(wake)
        }
        var events = [epoll_event](repeating: epoll_event(), count: 32)
        while true {
            let count = epoll_wait(epoll, &events, Int32(events.count), -1)
            if count < 0, errno != EINTR { return }
            for event in events.prefix(Int(max(0, count))) {
                if event.data.u64 == Self.wakeID { return }
                onHangUp(event.data.u64)
            }
        }
    }
}
