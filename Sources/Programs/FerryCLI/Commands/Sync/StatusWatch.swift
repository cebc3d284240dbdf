import Control
import Glibc
import SystemIO

/// The screen of `ferry status --watch`: the status, and below it the transfers that are not over.
struct StatusWatch {
    private let terminal: Terminal
    private var status: DaemonStatus?
    /// Those that are not over, in the order in which they were first seen.
    var transfers: [TransferSummary] = []
    private var screen = RedrawnLines(stream: .output)

    init(_ terminal: Terminal) { self.terminal = terminal }

    mutating func update(_ status: DaemonStatus) {
        self.status = status
        draw(isUrgent: true)
    }

    mutating func update(_ transfer: TransferSummary) {
        let index = transfers.firstIndex { $0.id == transfer.id }
        let before = index.map { transfers[$0].state }
        if let index {
            if transfer.isOver { transfers.remove(at: index) } else { transfers[index] = transfer }
        } else if !transfer.isOver {
            transfers.append(transfer)
        }
        draw(isUrgent: before != transfer.state)
    }

    private mutating func draw(isUrgent: Bool) {
        guard let status else { return }
        screen.draw(isUrgent: isUrgent) { [terminal, transfers] format, rows in
            let lines = StatusScreen(terminal: terminal).lines(of: status)
            let room = max(0, rows - 2 - lines.count)
            var below = TransferLines(Array(transfers.prefix(room)), showsID: false).lines(format)
            if transfers.count > room, room > 0 {
                below[room - 1] = "and \(Count(transfers.count - room + 1, "more transfer"))"
            }
            return Array((lines + (below.isEmpty ? [] : [""] + below)).prefix(max(1, rows - 1)))
        }
    }
}
