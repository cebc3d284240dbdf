import Synchronization
import SystemIO

/// An upload that can be observed and controlled.
public typealias UploadTask = TransferTask<UploadedFile>
/// A download that can be observed and controlled.
public typealias DownloadTask = TransferTask<DownloadedFile>

/// A transfer that can be observed, paused, resumed and cancelled. All methods may be called at any
/// time from any thread.
///
///     let task = UploadTask(file, to: store, namespace: namespace)
///     task.start()
///     for await snapshot in task.snapshots { show(snapshot) }
///     let uploaded = try await task.outcome
///
/// A task of a `Transfers` queue is started by the queue and survives restarts; its commands go to
/// the queue.
public final class TransferTask<Outcome: Sendable>: TransferHandle {
    /// The id, which is the same after a restart.
    public let id: TransferID
    /// The name of the file.
    public let name: String
    /// The label that the application has given to the transfer; empty for a transfer outside a
    /// queue.
    public let label: String
    /// Whether the transfer is an upload or a download.
    public let direction: TransferSnapshot.Direction
    /// The priority: 0 is normal, and transfers of higher priority run first.
    public let priority: Int

    let engine: TransferEngine<Outcome>
    private let limiter: LimitedObjectStore
    private let send: @Sendable (TransferCommand) -> Void

    /// Creates a task of a queue.
    ///
    /// - Parameter limiter: The store through which the work of this task, and no other, transfers
    ///   its bytes.
    init(
        id: TransferID, name: String, label: String = "", direction: TransferSnapshot.Direction, priority: Int = 0,
        engine: TransferEngine<Outcome>, limiter: LimitedObjectStore,
        send: @escaping @Sendable (TransferCommand) -> Void
    ) {
        self.id = id
        self.name = name
        self.label = label
        self.direction = direction
        self.priority = priority
        self.engine = engine
        self.limiter = limiter
        self.send = send
    }

    /// Creates a transfer outside a queue, which is not retried and ends with the process.
    convenience init(
        name: String, direction: TransferSnapshot.Direction, total: Int64?, work: TransferWork<Outcome>,
        limiter: LimitedObjectStore, environment: Environment = .system
    ) {
        let id = TransferID(randomBy: environment)
        let engine = TransferEngine(
            id: id, name: name, direction: direction, total: total, work: work, environment: environment)
        engine.onEvent { [weak engine] event in
            if case .failed(let error) = event { engine?.giveUp(error) }
        }
        self.init(id: id, name: name, direction: direction, engine: engine, limiter: limiter) { [engine] command in
            switch command {
            case .start: engine.handle(.launch)
            case .pause: engine.handle(.pause)
            case .resume: engine.handle(.resume)
            case .cancel: engine.handle(.cancel)
            case .limit: break
            }
        }
    }

    /// Starts the transfer, or continues it after a pause. Does nothing if it is running.
    public func start() { send(.start) }

    /// Stops the traffic within a second. At most the chunks in flight are transferred again later.
    public func pause() { send(.pause) }

    /// Continues the transfer after a pause.
    public func resume() { send(.resume) }

    /// Ends the transfer permanently and deletes what only this transfer needs.
    public func cancel() { send(.cancel) }

    /// Limits the rate of this transfer in bytes per second, from its next part on; nil removes the
    /// limit. A part that waits because of an earlier limit continues within a second. A limit that
    /// several transfers share (`LimitedObjectStore`) applies as well. In a queue the limit is kept
    /// across restarts.
    public func limit(bytesPerSecond: Int?) {
        limiter.limit(up: bytesPerSecond, down: bytesPerSecond)
        send(.limit(bytesPerSecond: bytesPerSecond))
    }

    /// The current state and progress.
    public var snapshot: TransferSnapshot { engine.snapshot }

    /// A stream of snapshots: the current one, then every change of state and about ten updates per
    /// second, and always the last one. A slow reader misses some in between. Any number of streams
    /// may be used.
    public var snapshots: AsyncStream<TransferSnapshot> { engine.snapshots() }

    /// The outcome of the transfer, once it has ended. Throws the `ObjectStorageError` that ended
    /// it, `.cancelled` if it was cancelled; `CancellationError` if the task that waits is
    /// cancelled, which does not affect the transfer.
    public var outcome: Outcome {
        get async throws { try await engine.outcome() }
    }
}

/// A command to a transfer.
enum TransferCommand: Sendable {
    case start, pause, resume, cancel
    case limit(bytesPerSecond: Int?)
}
