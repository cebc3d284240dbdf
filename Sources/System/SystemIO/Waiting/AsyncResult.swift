import Synchronization

/// A result that is set once and that any number of tasks await.
package final class AsyncResult<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, any Error>?
        var waiters: [UInt64: CheckedContinuation<Value, any Error>] = [:]
        var nextID: UInt64 = 0
    }

    private let state: Mutex<State>

    /// Creates a result.
    ///
    /// - Parameter result: The result, if it is known already.
    package init(_ result: Result<Value, any Error>? = nil) { state = Mutex(State(result: result)) }

    /// The result; nil until it is set.
    package var result: Result<Value, any Error>? { state.withLock(\.result) }

    /// Sets the result and ends the waits, unless a result was set before.
    package func resolve(_ result: Result<Value, any Error>) {
        let waiters = state.withLock { state in
            guard state.result == nil else { return [UInt64: CheckedContinuation<Value, any Error>]() }
            state.result = result
            defer { state.waiters = [:] }
            return state.waiters
        }
        for (_, waiter) in waiters.sorted(by: { $0.key < $1.key }) { waiter.resume(with: result) }
    }

    /// Waits for the result and returns its value.
    ///
    /// - Throws: The error of the result. `CancellationError` if the task is cancelled before the
    ///   result is set; the other tasks continue to wait.
    package func value() async throws -> Value {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<Value, any Error>? in
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
