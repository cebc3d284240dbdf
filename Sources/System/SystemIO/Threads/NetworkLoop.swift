import CLinux
import Glibc
import Synchronization

/// A thread that waits for its sockets, and runs the handlers of their calls between two waits.
///
/// A call so begins and ends on the thread that reads and writes its connection, and several answers go out in one write.
/// In return a handler must not block: while it computes, the other calls of this thread wait.
///
/// `@unchecked Sendable`: what is not behind the lock is touched on the thread only.
package final class NetworkLoop: TaskExecutor, @unchecked Sendable {
    private enum Work {
        case job(UnownedJob)
        case action(@Sendable () -> Void)
    }

    private struct State {
        var work: [Work] = []
        var isAsleep = false
        var isStopped = false
    }

    private let poll: Int32
    /// Ends the wait, eventfd(2).
    private let bell: Int32
    private let state = Mutex(State())
    private let thread = Atomic<pthread_t>(0)
    private var sources: [Int32: any NetworkSource] = [:]
    private var unsent: [any NetworkSource] = []
    private var nextCheck: ContinuousClock.Instant?
    private var otherChecks: [(ContinuousClock.Instant) -> Void] = []

    package init() throws(SystemError) {
        poll = epoll_create1(Int32(EPOLL_CLOEXEC))
        bell = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        // Edge-triggered, so that nobody needs to read it.
        guard poll >= 0, bell >= 0, ferry_watch(poll, EPOLL_CTL_ADD, bell, EPOLLIN.rawValue | EPOLLET.rawValue) == 0
        else {
            let failure = SystemError.last("wait for sockets", nil)
            if poll >= 0 { close(poll) }
            if bell >= 0 { close(bell) }
            throw failure
        }
    }

    deinit {
        close(poll)
        close(bell)
    }

    /// Begins the thread, which lives until `stop`.
    package func start(named name: String) throws(SystemError) {
        // Handlers may go as deep as on any other thread.
        try WorkerThread.start(named: name, stackSize: 8 << 20, run)
    }

    /// Ends the thread once it has nothing to do.
    package func stop() {
        add { $0.isStopped = true }
    }

    // MARK: From any thread

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        add { $0.work.append(.job(job)) }
    }

    /// Runs an action on the thread: now if this is the thread, else soon.
    package func perform(_ action: @escaping @Sendable () -> Void) {
        if isCurrent { action() } else { later(action) }
    }

    /// Runs an action on the thread behind what it is doing.
    package func later(_ action: @escaping @Sendable () -> Void) { add { $0.work.append(.action(action)) } }

    private var isCurrent: Bool { thread.load(ordering: .relaxed) == pthread_self() }

    private func add(_ change: (inout State) -> Void) {
        let mustRing = state.withLock { state in
            change(&state)
            defer { state.isAsleep = false }
            return state.isAsleep
        }
        if mustRing { eventfd_write(bell, 1) }
    }

    // MARK: On the thread

    /// Lets a source know when its socket is ready for what it wants to do.
    /// - Returns: false where the system refuses.
    package func watch(_ source: any NetworkSource, forReads: Bool = true, forWrites: Bool = false) -> Bool {
        let events = (forReads ? EPOLLIN.rawValue : 0) | (forWrites ? EPOLLOUT.rawValue : 0)
        let operation = sources.updateValue(source, forKey: source.descriptor) == nil ? EPOLL_CTL_ADD : EPOLL_CTL_MOD
        return ferry_watch(poll, operation, source.descriptor, events) == 0
    }

    /// To be called before the socket is closed.
    package func forget(_ source: any NetworkSource) {
        if sources.removeValue(forKey: source.descriptor) != nil {
            _ = ferry_watch(poll, EPOLL_CTL_DEL, source.descriptor, 0)
        }
    }

    /// Sends what the source has once everything that there is to do has been done.
    package func sendSoon(_ source: any NetworkSource) { unsent.append(source) }

    /// Calls every source's `check` at that time at the latest.
    package func check(at time: ContinuousClock.Instant) {
        nextCheck = min(nextCheck ?? time, time)
    }

    /// Calls that, too, when it calls every source's `check`; for who waits for a time without a socket. To be called before the
    /// thread begins.
    package func alsoCheck(_ check: @escaping (ContinuousClock.Instant) -> Void) { otherChecks.append(check) }

    package func forEachSource(_ body: (any NetworkSource) -> Void) {
        for source in Array(sources.values) { body(source) }
    }

    private func run() {
        thread.store(pthread_self(), ordering: .relaxed)
        let capacity: Int32 = 256
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: Int(capacity)) { events in
            while true {
                runWork()
                let pause = state.withLock { state -> Int32? in
                    guard state.work.isEmpty, unsent.isEmpty else { return 0 }
                    if state.isStopped { return nil }
                    state.isAsleep = true
                    return milliseconds
                }
                guard let pause else { return }
                let count = epoll_wait(poll, events.baseAddress, capacity, pause)
                state.withLock { $0.isAsleep = false }
                for event in events.prefix(max(0, Int(count))) {
                    let isWritable = event.events & EPOLLOUT.rawValue != 0
                    let isReadable = event.events & ~EPOLLOUT.rawValue != 0
                    withUnsafePointer(to: event) { sources[ferry_watched($0)] }?.ready(
                        toRead: isReadable, toWrite: isWritable)
                }
                checkIfDue()
            }
        }
    }

    private func runWork() {
        let work = state.withLock { state in
            defer { state.work = [] }
            return state.work
        }
        for work in work {
            switch work {
            case .job(let job): job.runSynchronously(on: asUnownedTaskExecutor())
            case .action(let action): action()
            }
        }
        let sources = unsent
        unsent = []
        for source in sources { source.send() }
    }

    /// How long to wait at most; -1 for as long as it takes.
    private var milliseconds: Int32 {
        guard let nextCheck else { return -1 }
        return Int32(clamping: Int(max(0, (nextCheck - .now) / .milliseconds(1))) + 1)
    }

    private func checkIfDue() {
        guard let due = nextCheck else { return }
        let now = ContinuousClock.now
        guard due <= now else { return }
        nextCheck = nil
        forEachSource { $0.check(at: now) }
        for check in otherChecks { check(now) }
    }
}

/// A socket that a loop waits for. Everything is called on the loop's thread.
package protocol NetworkSource: AnyObject {
    var descriptor: Int32 { get }
    func ready(toRead: Bool, toWrite: Bool)
    /// See `NetworkLoop.sendSoon`.
    func send()
    /// See `NetworkLoop.check`.
    func check(at now: ContinuousClock.Instant)
}
