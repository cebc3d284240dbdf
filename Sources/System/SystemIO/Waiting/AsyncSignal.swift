import Synchronization

/// A signal for one waiting task. One that is set while no task waits is kept for the next wait, and
/// several of them count as one.
package final class AsyncSignal: Sendable {
    private struct State {
        var isSet = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    package init() {}

    package func set() {
        let waiter = state.withLock { state in
            state.isSet = state.waiter == nil
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Returns after the next `set()`, at once if there was one since the last wait, and when the task
    /// is cancelled. A second task that waits at the same time returns at once.
    package func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let returns = state.withLock { state in
                    if state.isSet || Task.isCancelled || state.waiter != nil {
                        state.isSet = false
                        return true
                    }
                    state.waiter = continuation
                    return false
                }
                if returns { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume()
        }
    }

    /// Waits as `wait()` does, at most for `duration`.
    ///
    /// - Returns: Whether the signal, or the cancellation, came within the duration.
    package func wait(atMost duration: Duration, in environment: Environment) async -> Bool {
        let timer = Task { [self] in
            try? await environment.sleep(for: duration)
            if Task.isCancelled { return false }
            set()
            return true
        }
        await wait()
        timer.cancel()
        return await !timer.value
    }
}
