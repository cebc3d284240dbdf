import Control

/// What `ferry status` shows to a person.
struct StatusScreen {
    let terminal: Terminal

    /// Returns the lines for a status, at most one screen.
    func lines(of status: DaemonStatus) -> [String] {
        var lines: [String] = []
        let color: Terminal.Style = status.state == .running ? .green : status.state == .paused ? .yellow : .red
        let state = terminal.styled(status.state.rawValue, color)
        lines.append("\(state)\(status.reason.map { ": \($0.printable)" } ?? "")")
        if let hint = status.hint { lines.append("  \(hint.printable)") }
        var table = Table()
        let account = status.account.map { "\($0.email ?? "anonymous (\($0.userID))") on \($0.server)" }
        table.add(["  account", account ?? "none"])
        table.add(["  directory", status.tasksDirectory.printable])
        table.add(["  tasks", "\(status.openTaskCount) open of \(status.taskCount)"])
        table.add(["  to send", pending(status)])
        table.add(["  to write", status.pendingDown == 0 ? "nothing" : "\(status.pendingDown)"])
        table.add(["  transfers", transfers(status)])
        table.add(["  last sync", status.lastSync.map { MomentWords.text($0) } ?? "never"])
        if status.rejected > 0 {
            table.add(["  rejected", "\(Count(status.rejected, "change")) that the server refused: ferry doctor"])
        }
        if status.heldDeletes > 0 {
            table.add(["  held", "\(Count(status.heldDeletes, "delete waits", "deletes wait")): ferry deletes"])
        }
        if status.invitations > 0 {
            table.add(["  invitations", "\(status.invitations) to answer: ferry invitations"])
        }
        if status.sentInvitations > 0 {
            table.add(["  invited", "\(Count(status.sentInvitations, "invitation", "invitations")) not answered yet"])
        }
        if status.conflicts > 0 { table.add(["  conflicts", "\(status.conflicts): ferry conflicts"]) }
        lines += table.lines(width: nil, style: { $0 == 0 ? terminal.styled($1, .faint) : $1 })
        for problem in status.problems.prefix(Self.problemLimit) {
            let subject = problem.subject.map { "\($0.printable): " } ?? ""
            lines.append("  \(terminal.styled("problem", .red))  \(subject)\(problem.message.printable)")
            if let hint = problem.hint { lines.append("           \(hint.printable)") }
        }
        let others = status.problems.count - Self.problemLimit
        if others > 0 { lines.append("  and \(Count(others, "more problem")): ferry status --json") }
        return lines
    }

    /// The most problems that fit on one screen.
    private static let problemLimit = 10

    private func transfers(_ status: DaemonStatus) -> String {
        var parts: [String] = []
        if status.activeTransfers + status.waitingTransfers > 0 {
            let why = status.transfersWaitFor.map { ": \($0.printable)" } ?? ""
            parts += ["\(status.activeTransfers) running", "\(status.waitingTransfers) waiting\(why)"]
        }
        if status.pausedTransfers > 0 { parts.append("\(status.pausedTransfers) paused: ferry transfers resume --all") }
        if status.failedTransfers > 0 { parts.append("\(status.failedTransfers) failed: ferry transfers") }
        return parts.isEmpty ? "none" : parts.joined(separator: ", ")
    }

    private func pending(_ status: DaemonStatus) -> String {
        guard status.pendingUp > 0 else { return "nothing" }
        let age = status.oldestPendingSeconds.map { ", the oldest for \(formatted(seconds: $0))" } ?? ""
        return "\(status.pendingUp)\(age)"
    }
}
