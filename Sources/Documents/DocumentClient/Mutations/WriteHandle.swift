public import DocumentModel
import Synchronization
import SystemIO

/// A change that was written locally, with which the remote's decision can be awaited.
///
/// The change is durable and visible whether or not a caller waits for it. It may be part of a later
/// commit, together with other changes of the same document.
public struct WriteHandle: Sendable {
    let tracker: WriteTracker

    /// Waits until the remote has the change, and returns the time of the commit; nil if that is not
    /// known, or if the remote needed no change.
    ///
    /// - Throws: `DocumentClientError` with `rejected` and the remote's reason, `discarded`, or
    ///   `closed`, in which case the next client of the state file sends the change.
    ///   `CancellationError` if the task is cancelled; the change is sent nevertheless.
    @discardableResult public func committed() async throws -> Timestamp? { try await tracker.outcome() }
}

/// Follows mutations until the remote has decided about all of them.
final class WriteTracker: Sendable {
    private struct State {
        var positions: Set<Int64>
        var time: Timestamp?
    }

    private let state: Mutex<State>
    private let result: AsyncResult<Timestamp?>

    init(_ positions: Set<Int64>) {
        state = Mutex(State(positions: positions))
        result = AsyncResult(positions.isEmpty ? .success(nil) : nil)
    }

    /// Records what became of the mutation at a position.
    func settle(_ position: Int64, _ outcome: MutationOutcome) {
        switch outcome {
        case .committed(let time):
            let last = state.withLock { state -> Timestamp? in
                state.positions.remove(position)
                state.time = max(state.time ?? .distantPast, time ?? .distantPast)
                return state.positions.isEmpty ? state.time : nil
            }
            guard let last else { return }
            result.resolve(.success(last == .distantPast ? nil : last))
        case .rejected(let reason): fail(DocumentClientError(.rejected, reason))
        case .discarded: fail(DocumentClientError(.discarded, "The change was discarded before it was sent."))
        case .joined(let other):
            state.withLock { state in
                state.positions.remove(position)
                state.positions.insert(other)
            }
        }
    }

    func fail(_ error: DocumentClientError) { result.resolve(.failure(error)) }

    func outcome() async throws -> Timestamp? { try await result.value() }
}
