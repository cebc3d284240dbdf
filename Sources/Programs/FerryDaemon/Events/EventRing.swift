import Control
import JSON

/// The last events, for those who come back and name the last one that they have seen.
struct EventRing {
    private let capacity: Int
    private var events: [ControlEvent] = []
    /// The number of the newest event, or what it would be.
    private(set) var lastID: UInt64

    /// - Parameter firstID: larger than any id that an earlier ring has given out.
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

    /// The events after one that was seen; none where some of them are not known any more, so that
    /// a reader starts afresh.
    func events(after id: UInt64) -> [ControlEvent] {
        guard let first = events.first, id >= first.id - 1, id <= lastID else { return [] }
        return events.filter { $0.id > id }
    }
}
