public import DocumentModel
import Synchronization

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
        var result: Result<Timestamp?, any Error>?
        var waiters: [Int: CheckedContinuation<Timestamp?, any Error>] = [:]
        var lastID = 0
    }

    private let state: Mutex<State>

    init(_ positions: Set<Int64>) {
        state = Mutex(State(positions: positions, result: positions.isEmpty ? .success(nil) : nil))
    }

    /// Records what became of the mutation at a position.
    func settle(_ position: Int64, _ outcome: MutationOutcome) {
        switch outcome {
        case .committed(let time):
            let isLast = state.withLock { state in
                state.positions.remove(position)
                state.time = max(state.time ?? .distantPast, time ?? .distantPast)
                return state.positions.isEmpty
            }
            guard isLast else { return }
            let time = state.withLock(\.time)
            end(.success(time == .distantPast ? nil : time))
        case .rejected(let reason): fail(DocumentClientError(.rejected, reason))
        case .discarded: fail(DocumentClientError(.discarded, "The change was discarded before it was sent."))
        case .joined(let other):
            state.withLock { state in
                state.positions.remove(position)
                state.positions.insert(other)
            }
        }
    }

    func fail(_ error: DocumentClientError) { end(.failure(error)) }

    private func end(_ result: Result<Timestamp?, any Error>) {
        let waiters = state.withLock { state in
            guard state.result == nil else { return [CheckedContinuation<Timestamp?, any Error>]() }
            state.result = result
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(with: result) }
    }

    func outcome() async throws -> Timestamp? {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<Timestamp?, any Error>? in
                    if let result = state.result { return result }
                    if Task.isCancelled { return .failure(CancellationError()) }
                    state.waiters[id] = continuation
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
            waiter?.resume(throwing: CancellationError())
        }
    }
}
