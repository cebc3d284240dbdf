import CLinux
import Glibc
import Synchronization

/// A thread that waits for its sockets and runs the handlers of their calls between two waits.
///
/// A call begins and ends on the thread that reads and writes its connection, and several responses
/// are sent with one write. In return a handler must not block: while it computes, the other calls
/// of this thread wait.
///
/// `@unchecked Sendable`: properties that are not protected by the lock are accessed on the thread
/// only.
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
    /// An eventfd(2) that interrupts the wait.
    private let wakeDescriptor: Int32
    private let state = Mutex(State())
    private let thread = Atomic<pthread_t>(0)
    private var sources: [Int32: any NetworkSource] = [:]
    private var unsent: [any NetworkSource] = []
    private var nextCheck: ContinuousClock.Instant?
    private var otherChecks: [(ContinuousClock.Instant) -> Void] = []

    package init() throws(SystemError) {
        poll = epoll_create1(Int32(EPOLL_CLOEXEC))
        wakeDescriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        // Edge-triggered, so that its counter need not be read.
        guard poll >= 0, wakeDescriptor >= 0,
            ferry_watch(poll, EPOLL_CTL_ADD, wakeDescriptor, EPOLLIN.rawValue | EPOLLET.rawValue) == 0
        else {
            let failure = SystemError.last("wait for sockets", nil)
            if poll >= 0 { close(poll) }
            if wakeDescriptor >= 0 { close(wakeDescriptor) }
            throw failure
        }
    }

    deinit {
        close(poll)
        close(wakeDescriptor)
    }

    /// Starts the thread, which runs until `stop`.
    package func start(named name: String) throws(SystemError) {
        // The usual stack size of a thread, so that handlers can recurse as deeply as elsewhere.
        try WorkerThread.start(named: name, stackSize: 8 << 20, run)
    }

    /// Ends the thread after the work that is queued.
    package func stop() {
        add { $0.isStopped = true }
    }

    // MARK: From any thread

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        add { $0.work.append(.job(job)) }
    }

    /// Runs an action on the thread: immediately if called on it, otherwise as soon as possible.
    package func perform(_ action: @escaping @Sendable () -> Void) {
        if isCurrent { action() } else { later(action) }
    }

    /// Runs an action on the thread after its current work, even if called on it.
    package func later(_ action: @escaping @Sendable () -> Void) { add { $0.work.append(.action(action)) } }

    private var isCurrent: Bool { thread.load(ordering: .relaxed) == pthread_self() }

    private func add(_ change: (inout State) -> Void) {
        let mustWake = state.withLock { state in
            change(&state)
            defer { state.isAsleep = false }
            return state.isAsleep
        }
        if mustWake { eventfd_write(wakeDescriptor, 1) }
    }

    // MARK: On the thread

    /// Notifies a source when its socket is ready for reads or writes.
    ///
    /// - Returns: False if the kernel refuses to watch the socket.
    package func watch(_ source: any NetworkSource, forReads: Bool = true, forWrites: Bool = false) -> Bool {
        let events = (forReads ? EPOLLIN.rawValue : 0) | (forWrites ? EPOLLOUT.rawValue : 0)
        let operation = sources.updateValue(source, forKey: source.descriptor) == nil ? EPOLL_CTL_ADD : EPOLL_CTL_MOD
        return ferry_watch(poll, operation, source.descriptor, events) == 0
    }

    /// Stops watching a source. Must be called before its socket is closed.
    package func forget(_ source: any NetworkSource) {
        if sources.removeValue(forKey: source.descriptor) != nil {
            _ = ferry_watch(poll, EPOLL_CTL_DEL, source.descriptor, 0)
        }
    }

    /// Calls the source's `send` after all queued work has run.
    package func sendSoon(_ source: any NetworkSource) { unsent.append(source) }

    /// Calls every source's `check` at the given time or earlier.
    package func check(at time: ContinuousClock.Instant) {
        nextCheck = min(nextCheck ?? time, time)
    }

    /// Registers a closure that is called whenever every source's `check` is called, for components
    /// that wait for a time without a socket. Must be called before the thread starts.
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

    /// The maximum time to wait; -1 for no limit.
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

/// A socket that a loop waits for. All methods are called on the loop's thread.
package protocol NetworkSource: AnyObject {
    var descriptor: Int32 { get }
    func ready(toRead: Bool, toWrite: Bool)
    /// Sends pending data; see `NetworkLoop.sendSoon`.
    func send()
    /// Handles deadlines; see `NetworkLoop.check`.
    func check(at now: ContinuousClock.Instant)
}
