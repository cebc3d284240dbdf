import Synchronization

/// A bell for one sleeper: a ring while nobody sleeps is kept for the next one.
final class WakeUp: Sendable {
    private struct State {
        var isRung = false
        var sleeper: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    func signal() {
        let sleeper = state.withLock { state in
            state.isRung = state.sleeper == nil
            defer { state.sleeper = nil }
            return state.sleeper
        }
        sleeper?.resume()
    }

    /// Until the bell rings or the task is cancelled.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isAwake = state.withLock { state in
                    if state.isRung || Task.isCancelled {
                        state.isRung = false
                        return true
                    }
                    state.sleeper = continuation
                    return false
                }
                if isAwake { continuation.resume() }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                defer { state.sleeper = nil }
                return state.sleeper
            }
            sleeper?.resume()
        }
    }
}
