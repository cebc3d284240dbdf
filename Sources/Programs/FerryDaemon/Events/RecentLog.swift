import Control
import DocumentModel
import Synchronization
import SystemService
import TaskModel

/// The last lines of the log, each of which is also published as an event.
final class RecentLog: Sendable {
    private struct State {
        var lines: [LogLine] = []
    }

    private static let capacity = 1000

    private let state = Mutex(State())
    private let hub: EventHub

    init(hub: EventHub) { self.hub = hub }

    func add(_ record: LogRecord) {
        let time = Timestamp(microseconds: Clocks.wallMilliseconds() * 1000).rfc3339
        let line = LogLine(time: time, level: record.level.name, text: record.line)
        state.withLock { state in
            if state.lines.count == Self.capacity { state.lines.removeFirst(Self.capacity / 4) }
            state.lines.append(line)
        }
        hub.publish(.log, line.json)
    }

    /// The lines, oldest first.
    var lines: [LogLine] { state.withLock { $0.lines } }
}
