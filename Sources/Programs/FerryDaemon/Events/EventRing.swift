import Control
import JSON

/// The last events, for clients that reconnect with the id of the last event that they have
/// received.
struct EventRing {
    private let capacity: Int
    private var events: [ControlEvent] = []
    /// The id of the newest event, or, before the first event, the id that precedes it.
    private(set) var lastID: UInt64

    /// Creates an empty ring.
    ///
    /// - Parameter firstID: An id that is greater than any id of an earlier ring.
    init(capacity: Int = 1024, firstID: UInt64) {
        self.capacity = capacity
        lastID = firstID
    }

    mutating func append(_ kind: ControlEvent.Kind, _ data: JSON) -> ControlEvent {
        lastID += 1
        let event = ControlEvent(id: lastID, kind: kind, data: data)
        if events.count == capacity { events.removeFirst(capacity / 4) }
        events.append(event)
        return event
    }

    /// Returns the events after the given id; empty if some of them are no longer available, in
    /// which case a reader starts from the current state.
    func events(after id: UInt64) -> [ControlEvent] {
        guard let first = events.first, id >= first.id - 1, id <= lastID else { return [] }
        return events.filter { $0.id > id }
    }
}
