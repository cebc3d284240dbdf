public import FoundationEssentials
import ObjectStorage
import SystemIO

/// A file on its way to or from the server. All methods may be called at any time.
///
/// It continues after an interruption of the network, and in the next run of the program, until it is
/// finished or cancelled.
public final class Transfer: Identifiable, Sendable {
    private let handle: any TransferHandle
    private let outcome = AsyncResult<URL?>()

    init(_ handle: any TransferHandle) { self.handle = handle }

    /// A text that identifies the transfer, also in the next run of the program.
    public var id: String { handle.id.text }

    /// The name of the file.
    public var name: String { handle.name }

    /// Whether the file goes to the server.
    public var isUpload: Bool { handle.direction == .up }

    /// Stops the traffic within a second, until `resume`, also in the next run of the program.
    public func pause() { handle.pause() }

    /// Continues after a pause. Parts that were transferred are not transferred again.
    public func resume() { handle.resume() }

    /// Ends the transfer. A file that was being added is removed from its document again.
    public func cancel() { handle.cancel() }

    /// Limits the rate in bytes per second; nil removes the limit.
    public func limit(bytesPerSecond: Int?) { handle.limit(bytesPerSecond: bytesPerSecond) }

    /// The progress now.
    public var currentProgress: TransferProgress { TransferProgress(handle.snapshot) }

    /// The progress: as it is now, about ten times a second, and the last one. A slow reader misses
    /// some in between.
    public var progress: AsyncStream<TransferProgress> {
        let snapshots = handle.snapshots
        return AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task {
                for await snapshot in snapshots { continuation.yield(TransferProgress(snapshot)) }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    /// Waits until the transfer is finished. The document of an upload then refers to the content.
    ///
    /// - Returns: The file that was downloaded; nil for an upload.
    /// - Throws: `FerryError` with `file` and the reason, or `closed`, after which the transfer
    ///   continues in the next run of the program. `CancellationError` if the task is cancelled; the
    ///   transfer is not.
    @discardableResult public func finished() async throws -> URL? { try await outcome.value() }

    /// Ends the waits for the transfer.
    func end(_ result: Result<URL?, any Error>) { outcome.resolve(result) }
}

/// The progress of a transfer at one moment.
public struct TransferProgress: Hashable, Sendable {
    /// What a transfer does at the moment.
    public enum State: Hashable, Sendable {
        /// It waits for its turn, or after a failure for another attempt.
        case waiting
        /// It sends or receives.
        case running
        /// It was paused, and waits for `resume`.
        case paused
        /// All content is in place.
        case finished
        /// It has failed for good, for the reason in `problem`.
        case failed
        /// It was cancelled.
        case cancelled
    }

    /// What the transfer does at the moment.
    public internal(set) var state: State
    /// The number of bytes of the file that are in place. It never decreases.
    public internal(set) var bytesDone: Int64
    /// The size of the file in bytes; nil before it is known.
    public internal(set) var bytesTotal: Int64?
    /// The number of bytes sent or received. It is less than `bytesDone` if they were compressed, or
    /// if the server had some of them already.
    public internal(set) var bytesOnWire: Int64
    /// The rate in bytes of the file per second; nil while nothing is transferred.
    public internal(set) var rate: Double?
    /// The reason why the transfer waits or has failed; nil otherwise.
    public internal(set) var problem: String?

    /// The progress from 0 to 1; nil before the size is known.
    public var fraction: Double? {
        guard let bytesTotal else { return nil }
        return bytesTotal == 0 ? (state == .finished ? 1 : 0) : min(1, Double(bytesDone) / Double(bytesTotal))
    }

    init(_ snapshot: TransferSnapshot) {
        state =
            switch snapshot.state {
            case .ready, .queued, .waiting: .waiting
            case .running: .running
            // The decision has been made, although the last chunks are still in flight.
            case .stopping, .paused: .paused
            case .done: .finished
            case .failed: .failed
            case .cancelled: .cancelled
            }
        bytesDone = snapshot.bytesDone
        bytesTotal = snapshot.bytesTotal
        bytesOnWire = snapshot.bytesOnWire
        rate = snapshot.rate
        problem = snapshot.problem?.message
    }
}
