import Synchronization

/// A one-time event that any number of tasks can wait for.
package final class Closing: Sendable {
    private struct State {
        var isClosed = false
        var waiting: [UInt64: AsyncStream<Never>.Continuation] = [:]
        var nextID: UInt64 = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// Returns when the event has happened, or when the task is cancelled.
    func wait() async {
        let (stream, end) = AsyncStream<Never>.makeStream()
        let id = state.withLock { state -> UInt64? in
            if state.isClosed { return nil }
            state.nextID += 1
            state.waiting[state.nextID] = end
            return state.nextID
        }
        guard let id else { return }
        for await _ in stream {}
        state.withLock { state in _ = state.waiting.removeValue(forKey: id) }
    }

    /// Lets the event happen. A second time changes nothing.
    package func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for end in waiting { end.finish() }
    }
}
