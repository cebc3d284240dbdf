import Synchronization

/// Something that is open or closed, to wait for.
final class Gate: Sendable {
    private struct State {
        var isOpen: Bool
        var waiters: [UInt64: (isOpen: Bool, continuation: CheckedContinuation<Void, Never>)] = [:]
        var nextID: UInt64 = 0
    }

    private let state: Mutex<State>

    init(isOpen: Bool) { state = Mutex(State(isOpen: isOpen)) }

    var isOpen: Bool { state.withLock { $0.isOpen } }

    func set(isOpen: Bool) {
        let woken = state.withLock { state in
            state.isOpen = isOpen
            let woken = state.waiters.filter { $0.value.isOpen == isOpen }
            for id in woken.keys { state.waiters[id] = nil }
            return woken.values.map(\.continuation)
        }
        for continuation in woken { continuation.resume() }
    }

    /// Returns when the gate is as asked for, or the task is cancelled.
    func wait(isOpen: Bool) async {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state in
                    if state.isOpen == isOpen || Task.isCancelled { return true }
                    state.waiters[id] = (isOpen, continuation)
                    return false
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
            waiter?.continuation.resume()
        }
    }
}
