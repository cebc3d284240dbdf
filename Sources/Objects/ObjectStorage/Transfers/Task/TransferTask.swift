import Synchronization
import SystemIO

public typealias UploadTask = TransferTask<UploadedFile>
public typealias DownloadTask = TransferTask<DownloadedFile>

/// A transfer that can be watched, paused, resumed and cancelled. All methods may be called at any time from anywhere.
///
///     let task = UploadTask(file, to: store, namespace: namespace)
///     task.start()
///     for await snapshot in task.snapshots { show(snapshot) }
///     let uploaded = try await task.outcome
///
/// One that belongs to a `Transfers` queue is started by it and survives restarts; the commands go to the queue.
public final class TransferTask<Outcome: Sendable>: TransferHandle {
    public let id: TransferID
    public let name: String
    /// What its owner knows it by; empty for a transfer of its own.
    public let label: String
    public let direction: TransferSnapshot.Direction
    /// 0 is normal; higher goes first.
    public let priority: Int

    let engine: TransferEngine<Outcome>
    private let limiter: LimitedObjectStore
    private let send: @Sendable (TransferCommand) -> Void

    /// - Parameter limiter: what the engine's work moves its bytes through, and nobody else.
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

    /// A transfer of its own, which tries nothing again and ends with the process.
    convenience init(
        name: String, direction: TransferSnapshot.Direction, total: Int64?, work: TransferWork<Outcome>,
        limiter: LimitedObjectStore, surroundings: Surroundings = .system
    ) {
        let id = TransferID.random()
        let engine = TransferEngine(
            id: id, name: name, direction: direction, total: total, work: work, surroundings: surroundings)
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

    /// Begins, or goes on after a pause. Does nothing when it runs already.
    public func start() { send(.start) }

    /// Stops the traffic within a second. At most the chunks under way are transferred again later.
    public func pause() { send(.pause) }

    public func resume() { send(.resume) }

    /// Ends it for good and frees what it alone can need.
    public func cancel() { send(.cancel) }

    /// Keeps its traffic below a rate, from the next part of it on; nil takes the limit away. What waits for an earlier limit goes on
    /// within a second. A limit that several transfers share (`LimitedObjectStore`) counts beside it. In a queue it is kept across
    /// restarts.
    public func limit(bytesPerSecond: Int?) {
        limiter.limit(up: bytesPerSecond, down: bytesPerSecond)
        send(.limit(bytesPerSecond: bytesPerSecond))
    }

    public var snapshot: TransferSnapshot { engine.snapshot }

    /// How it goes on from now: the present moment, then every change of state and about ten updates a second, then
    /// the final one, always. A slow reader misses some in between. Can be asked for any number of times.
    public var snapshots: AsyncStream<TransferSnapshot> { engine.snapshots() }

    /// Waits for the end. Throws the `ObjectStorageError` that ended it; `.cancelled` when somebody cancelled it.
    public var outcome: Outcome {
        get async throws { try await engine.outcome() }
    }
}

enum TransferCommand: Sendable {
    case start, pause, resume, cancel
    case limit(bytesPerSecond: Int?)
}
