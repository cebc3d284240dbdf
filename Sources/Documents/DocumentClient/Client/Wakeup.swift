import Synchronization
import SystemIO

/// Wakes one waiting task, or the next one that waits. Several calls of `set` before that count as
/// one.
final class Wakeup: Sendable {
    private struct State {
        var isSet = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    func set() {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard let waiter = state.waiter else {
                state.isSet = true
                return nil
            }
            state.waiter = nil
            return waiter
        }
        waiter?.resume()
    }

    /// Returns after the next `set`; immediately if there was one since the last wait, and when the
    /// task is cancelled.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state -> Bool in
                    if state.isSet || Task.isCancelled || state.waiter != nil {
                        state.isSet = false
                        return true
                    }
                    state.waiter = continuation
                    return false
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            set()
        }
    }

    /// Waits, but no longer than `duration`. Returns false if the time was over.
    func wait(atMost duration: Duration, in surroundings: Surroundings) async -> Bool {
        let timer = Task { [self] in
            try? await surroundings.sleep(for: duration)
            if Task.isCancelled { return false }
            set()
            return true
        }
        await wait()
        timer.cancel()
        return await !timer.value
    }
}
