import Synchronization

/// A value with readers that receive its changes. A slow reader receives the latest one only.
final class Broadcast<Element: Sendable>: Sendable {
    private struct State {
        var latest: Element
        var readers: [Int: AsyncStream<Element>.Continuation] = [:]
        var lastID = 0
        var isFinished = false
    }

    private let state: Mutex<State>

    init(_ initial: Element) { state = Mutex(State(latest: initial)) }

    var latest: Element { state.withLock(\.latest) }

    var stream: AsyncStream<Element> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let (id, latest, isFinished) = state.withLock { state in
                state.lastID += 1
                if !state.isFinished { state.readers[state.lastID] = continuation }
                return (state.lastID, state.latest, state.isFinished)
            }
            continuation.onTermination = { [weak self] _ in
                self?.state.withLock { _ = $0.readers.removeValue(forKey: id) }
            }
            continuation.yield(latest)
            if isFinished { continuation.finish() }
        }
    }

    func send(_ element: Element) {
        let readers = state.withLock { state in
            state.latest = element
            return Array(state.readers.values)
        }
        for reader in readers { reader.yield(element) }
    }

    func finish() {
        let readers = state.withLock { state in
            state.isFinished = true
            defer { state.readers = [:] }
            return Array(state.readers.values)
        }
        for reader in readers { reader.finish() }
    }
}
