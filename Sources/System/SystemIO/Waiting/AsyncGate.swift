import Synchronization

/// A gate that is open or closed, for any number of waiting tasks.
package final class AsyncGate: Sendable {
    private struct State {
        var isOpen: Bool
        var waiters: [UInt64: (isOpen: Bool, continuation: CheckedContinuation<Void, Never>)] = [:]
        var nextID: UInt64 = 0
    }

    private let state: Mutex<State>

    package init(isOpen: Bool) { state = Mutex(State(isOpen: isOpen)) }

    package var isOpen: Bool { state.withLock { $0.isOpen } }

    package func set(isOpen: Bool) {
        let resumed = state.withLock { state in
            state.isOpen = isOpen
            let resumed = state.waiters.filter { $0.value.isOpen == isOpen }
            for id in resumed.keys { state.waiters[id] = nil }
            return resumed.values.map(\.continuation)
        }
        for continuation in resumed { continuation.resume() }
    }

    /// Returns once the gate has been in the given state, or when the task is cancelled.
    package func wait(isOpen: Bool = true) async {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let returns = state.withLock { state in
                    if state.isOpen == isOpen || Task.isCancelled { return true }
                    state.waiters[id] = (isOpen, continuation)
                    return false
                }
                if returns { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
            waiter?.continuation.resume()
        }
    }
}
