import Control
import JSON
import Synchronization
import SystemIO

/// Passes events to their listeners, and signals the observers of changes.
final class EventHub: Sendable {
    typealias Events = AsyncThrowingStream<ControlEvent, any Error>

    private struct State {
        var ring: EventRing
        var listeners: [UInt64: Events.Continuation] = [:]
        var nextListener: UInt64 = 0
        var signals: [WeakSignal] = []
        var isClosed = false
        var pokes: UInt64 = 0
    }

    private struct WeakSignal: Sendable {
        weak var signal: AsyncSignal?
    }

    /// The number of events by which a listener may fall behind. Then its stream ends, and it
    /// reconnects with the id of the last event that it has received.
    private static let backlog = 2048

    private let state: Mutex<State>
    init() {
        // A later daemon's events need larger ids, so the ids start with the time.
        let firstID = UInt64(clamping: Clocks.wallMilliseconds()) << 8
        state = Mutex(State(ring: EventRing(firstID: firstID)))
    }

    /// Signals all subscribers that something may have changed.
    func poke() {
        let signals = state.withLock { state in
            state.pokes &+= 1
            return state.signals.compactMap(\.signal)
        }
        for signal in signals { signal.set() }
    }

    /// A number that is different whenever something may have changed.
    var moment: UInt64 { state.withLock { $0.pokes } }

    /// Returns a signal that is set with each poke, as long as it exists.
    func subscribe() -> AsyncSignal {
        let signal = AsyncSignal()
        state.withLock { state in
            state.signals.removeAll { $0.signal == nil }
            state.signals.append(WeakSignal(signal: signal))
        }
        return signal
    }

    var hasListeners: Bool { state.withLock { !$0.listeners.isEmpty } }

    func publish(_ kind: ControlEvent.Kind, _ data: JSON) {
        let lost = state.withLock { state -> [Events.Continuation] in
            let event = state.ring.append(kind, data)
            var lost: [Events.Continuation] = []
            for (id, listener) in state.listeners {
                if case .enqueued = listener.yield(event) { continue }
                state.listeners[id] = nil
                lost.append(listener)
            }
            return lost
        }
        for listener in lost { listener.finish() }
    }

    /// Returns a stream of events, which starts with a status event and the events after
    /// `lastEventID`.
    func events(after lastEventID: UInt64?, status: JSON) -> Events {
        let (stream, continuation) = Events.makeStream(bufferingPolicy: .bufferingOldest(Self.backlog))
        let id = state.withLock { state -> UInt64? in
            guard !state.isClosed else { return nil }
            let missed = lastEventID.map { state.ring.events(after: $0) } ?? []
            // The status event has the id before that of the next event, so that a reader who
            // reconnects from it misses none.
            let number = missed.first.map { $0.id - 1 } ?? state.ring.lastID
            continuation.yield(ControlEvent(id: number, kind: .status, data: status))
            for event in missed { continuation.yield(event) }
            state.nextListener += 1
            state.listeners[state.nextListener] = continuation
            return state.nextListener
        }
        guard let id else {
            continuation.finish()
            return stream
        }
        // Drop the listener in a task, because a cancellation calls this with the lock of the
        // listener's task, which `publish` acquires under its own lock.
        continuation.onTermination = { [weak self] _ in
            Task { self?.drop(id) }
        }
        poke()
        return stream
    }

    private func drop(_ id: UInt64) { state.withLock { _ = $0.listeners.removeValue(forKey: id) } }

    /// Ends all streams.
    func close() {
        let listeners = state.withLock { state in
            state.isClosed = true
            defer { state.listeners = [:] }
            return state.listeners.values
        }
        for listener in listeners { listener.finish() }
    }
}
