import Synchronization
import SystemIO

/// Performs the actions that a `TransferMachine` decides, and notifies observers.
final class TransferEngine<Outcome: Sendable>: Sendable {
    /// The minimum time between two snapshots that differ only in numbers.
    private static var interval: Duration { .milliseconds(100) }

    private struct State {
        var machine = TransferMachine()
        /// The state that is shown instead of `ready`.
        var idleState = TransferState.ready
        var task: Task<Void, Never>?
        var problem: ObjectStorageError?
        /// The result of the work, until the machine confirms that it is the outcome.
        var success: Outcome?
        var meter = RateMeter()
        var lastShown: Duration?
        var watchers: [Int: AsyncStream<TransferSnapshot>.Continuation] = [:]
        var nextWatcher = 0
        var onEvent: (@Sendable (TransferEngineEvent) -> Void)?
        var onSnapshot: (@Sendable (TransferSnapshot) -> Void)?
    }

    private let id: TransferID
    private let name: String
    private let label: String
    private let direction: TransferSnapshot.Direction
    private let work: TransferWork<Outcome>
    private let environment: Environment
    private let state = Mutex(State())
    private let progress: TransferProgress
    private let result = AsyncResult<Outcome>()

    init(
        id: TransferID, name: String, label: String = "", direction: TransferSnapshot.Direction, total: Int64?,
        work: TransferWork<Outcome>, environment: Environment = .system
    ) {
        self.id = id
        self.name = name
        self.label = label
        self.direction = direction
        self.work = work
        self.environment = environment
        let relay = ProgressRelay()
        progress = TransferProgress { relay.call() }
        progress.begin(total: total)
        relay.set { [weak self] in self?.show(force: false) }
    }

    /// Sets the callback for the ends of the work. After `.failed` the owner must call `giveUp` or
    /// launch the transfer again.
    func onEvent(_ body: @escaping @Sendable (TransferEngineEvent) -> Void) {
        state.withLock { $0.onEvent = body }
    }

    /// Sets the callback for snapshots. It is called in order and under a lock, so it may only pass
    /// them on.
    func onSnapshot(_ body: @escaping @Sendable (TransferSnapshot) -> Void) {
        state.withLock { $0.onSnapshot = body }
    }

    /// Restores a transfer that had ended before this process started.
    func restore(_ result: Result<Outcome, ObjectStorageError>) {
        self.result.resolve(result.mapError { $0 })
        state.withLock { state in
            if case .failure(let error) = result { state.problem = error }
            let isDone = (try? result.get()) != nil
            state.machine = TransferMachine(finished: isDone ? .done : .failed)
        }
    }

    func handle(_ event: TransferMachine.Event) {
        // Starts and interruptions happen under the lock, so that they cannot be reordered.
        let action = state.withLock { state in
            let action = state.machine.handle(event)
            if action == .start { start(&state) }
            if action == .interrupt { state.task?.cancel() }
            return action
        }
        if action == .clean { clean() }
        if case .finish(let final) = action { finish(final) }
        show(force: true)
        report(event, action)
    }

    /// Sets the state that is shown while no work is in progress: queued, or waiting for another
    /// attempt.
    func showIdle(as idle: TransferState, problem: ObjectStorageError? = nil) {
        state.withLock { state in
            state.idleState = idle
            state.problem = problem
        }
        show(force: true)
    }

    /// Ends a transfer that has failed.
    func giveUp(_ error: ObjectStorageError) {
        state.withLock { $0.problem = error }
        handle(.giveUp)
    }

    var snapshot: TransferSnapshot { state.withLock { snapshot($0) } }

    func snapshots() -> AsyncStream<TransferSnapshot> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let number: Int? = state.withLock { state in
                continuation.yield(snapshot(state))
                guard result.result == nil else { return nil }
                state.nextWatcher += 1
                state.watchers[state.nextWatcher] = continuation
                return state.nextWatcher
            }
            guard let number else { return continuation.finish() }
            // In a task, because a cancellation calls this while the task of the observer is
            // locked, and `show` resumes that task under its own lock.
            continuation.onTermination = { [weak self] _ in
                Task { self?.state.withLock { state in _ = state.watchers.removeValue(forKey: number) } }
            }
        }
    }

    func outcome() async throws -> Outcome { try await result.value() }

    private func report(_ event: TransferMachine.Event, _ action: TransferMachine.Action) {
        let (report, problem) = state.withLock { ($0.onEvent, $0.problem) }
        switch (event, action) {
        case (_, .finish(let final)): report?(.ended(final))
        case (_, .reportFailure): if let problem { report?(.failed(problem)) }
        case (.ended, .none): report?(.stopped)
        default: break
        }
    }

    // The tasks below are owned by this object: `task` serves to cancel them, and each ends with an
    // event.

    private func start(_ current: inout State) {
        current.problem = nil
        current.meter.restart()
        current.task = Task(executorPreference: StorageThreads.preferred(in: environment)) { [self] in
            do {
                let outcome = try await work.run(progress)
                state.withLock { $0.success = outcome }
                handle(.ended(.succeeded))
            } catch {
                // A cancellation that was not requested for this transfer is a failure. As an
                // interruption it would never be launched again.
                let wasInterrupted = Task.isCancelled
                state.withLock { $0.problem = wasInterrupted ? nil : ObjectStorageError(wrapping: error) }
                handle(.ended(wasInterrupted ? .interrupted : .failed))
            }
        }
    }

    private func clean() {
        Task(executorPreference: StorageThreads.preferred(in: environment)) { [self] in
            await work.clean()
            handle(.cleaned)
        }
    }

    private func finish(_ final: TransferState) {
        let ending = state.withLock { state -> Result<Outcome, any Error> in
            state.task = nil
            if final == .done, let success = state.success { return .success(success) }
            guard final == .cancelled else {
                return .failure(
                    state.problem ?? ObjectStorageError(.unavailable, "the transfer of \(name) failed"))
            }
            let error = ObjectStorageError(.cancelled, "the transfer of \(name) was cancelled")
            state.problem = error
            return .failure(error)
        }
        result.resolve(ending)
    }

    private func show(force: Bool) {
        let ended: [AsyncStream<TransferSnapshot>.Continuation] = state.withLock { state in
            let time = environment.now()
            state.meter.add(progress.current.best, at: time)
            if !force, let last = state.lastShown, time - last < Self.interval { return [] }
            state.lastShown = time
            let snapshot = snapshot(state)
            for watcher in state.watchers.values { watcher.yield(snapshot) }
            state.onSnapshot?(snapshot)
            guard snapshot.state.isFinal else { return [] }
            defer { state.watchers = [:] }
            return Array(state.watchers.values)
        }
        // Not under the lock, because `onTermination` of the observers takes it.
        for watcher in ended { watcher.finish() }
    }

    private func snapshot(_ state: State) -> TransferSnapshot {
        let shown: TransferState =
            switch state.machine.phase {
            case .ready: state.idleState
            case .running: .running
            case .stopping, .cleaning: .stopping
            case .paused: .paused
            case .finished(let final): final
            }
        let counts = progress.current
        return TransferSnapshot(
            id: id, name: name, label: label, direction: direction, state: shown, bytesTotal: counts.total,
            bytesDone: counts.best,
            bytesDeduplicated: counts.deduplicated, bytesOnWire: counts.wire,
            rate: shown == .running ? state.meter.rate : nil, problem: state.problem)
    }
}

/// The end of the work of a transfer.
enum TransferEngineEvent: Sendable {
    /// The work was interrupted by a pause or a hold.
    case stopped
    case failed(ObjectStorageError)
    case ended(TransferState)
}

extension ObjectStorageError {
    init(wrapping error: any Error) {
        self = (error as? ObjectStorageError) ?? ObjectStorageError(.unavailable, "\(error)", cause: error)
    }
}
