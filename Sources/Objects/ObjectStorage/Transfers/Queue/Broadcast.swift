import Synchronization

/// Sends values to any number of listeners.
final class Broadcast<Value: Sendable>: Sendable {
    private static var buffered: Int { 1024 }

    private struct State {
        var listeners: [Int: AsyncStream<Value>.Continuation] = [:]
        var next = 0
    }

    private let state = Mutex(State())

    /// Returns a stream of the values from now on. A slow reader loses the oldest values.
    func stream() -> AsyncStream<Value> {
        AsyncStream(bufferingPolicy: .bufferingNewest(Self.buffered)) { continuation in
            let number = state.withLock { state in
                state.next += 1
                state.listeners[state.next] = continuation
                return state.next
            }
            continuation.onTermination = { [weak self] _ in
                self?.state.withLock { state in _ = state.listeners.removeValue(forKey: number) }
            }
        }
    }

    func send(_ value: Value) {
        let listeners = state.withLock { Array($0.listeners.values) }
        for listener in listeners { listener.yield(value) }
    }
}
