import Control
import SystemIO

/// Reports on standard error what a sync waits for: after a second, and each time that nothing has
/// moved for half a minute.
struct StandstillReport {
    private let service: any ControlService
    private let terminal: Terminal

    init(_ service: any ControlService, _ terminal: Terminal) {
        self.service = service
        self.terminal = terminal
    }

    /// Runs until its task is cancelled.
    func run() async {
        let patience = Duration.seconds(30)
        var seen: String?
        var since = ContinuousClock.now
        var pause = Duration.seconds(1)
        while (try? await Task.sleep(for: pause)) != nil {
            let looking = Task { (try await service.status(), try await service.transfers()) }
            // A daemon that does not respond counts as one in which nothing moves.
            let look = try? await looking.value(within: .seconds(5))
            guard !Task.isCancelled else { return }
            let (state, text) = Self.progress(look ?? nil)
            if seen == nil { terminal.note("Waiting: \(text)") }
            pause = .seconds(5)
            if state != seen { (seen, since) = (state, .now) }
            guard ContinuousClock.now - since >= patience else { continue }
            terminal.note("Still waiting, nothing has moved for \(patience.components.seconds) s: \(text)")
            since = .now
        }
    }

    /// Returns a text that changes whenever anything moves, and a text for users.
    private static func progress(_ look: (DaemonStatus, [TransferSummary])?) -> (state: String, text: String) {
        guard let (status, transfers) = look else { return ("", "the daemon does not respond.") }
        let moving = transfers.filter { [.queued, .running, .waiting].contains($0.state) }
        var parts = ["\(Count(status.pendingUp, "change")) to send", "\(status.pendingDown) to write"]
        parts += moving.prefix(3).map { transfer in
            let reason = transfer.reason.map { ", \($0.printable)" } ?? ""
            return "\(transfer.name.printable) \(transfer.state.rawValue)\(reason)"
        }
        if moving.count > 3 { parts.append("\(Count(moving.count - 3, "more transfer"))") }
        let text = parts.joined(separator: "; ") + (status.plainReason.map { ". \($0.printable)" } ?? ".")
        return (
            "\(text) \(moving.count) \(transfers.reduce(0 as Int64) { $0.saturatingAdded(to: $1.bytesDone) })", text
        )
    }
}
