import Control

/// The output of `ferry status` for users.
struct StatusScreen {
    let terminal: Terminal
    /// Whether to show what libraries said about the reason.
    var isVerbose = false

    /// Returns the lines for a status, at most one screen.
    func lines(of status: DaemonStatus) -> [String] {
        var lines: [String] = []
        let color: Terminal.Style = status.state == .running ? .green : status.state == .paused ? .yellow : .red
        let first = terminal.folded(
            "\(status.state.rawValue)\(status.plainReason.map { ": \($0.printable)" } ?? "")", indent: 2)
        lines += first.map { line in
            // Only the state's word is colored.
            line.hasPrefix(status.state.rawValue)
                ? terminal.styled(status.state.rawValue, color) + line.dropFirst(status.state.rawValue.count) : line
        }
        if isVerbose, let cause = status.cause { lines += terminal.folded("  because: \(cause.printable)", indent: 2) }
        if let hint = status.hint { lines += terminal.folded("  \(hint.printable)", indent: 2) }
        lines += terminal.labeled(rows(of: status))
        // What the first line says already is not said again.
        let problems = status.problems.filter { $0.message != status.reason }
        for problem in problems.prefix(Self.problemLimit) { lines += self.lines(of: problem) }
        let others = problems.count - Self.problemLimit
        if others > 0 { lines.append("  and \(Count(others, "more problem")): ferry status --json") }
        return lines
    }

    private func lines(of problem: Problem) -> [String] {
        let indent = 11
        let subject = problem.subject.map { "\($0.printable): " } ?? ""
        let text = terminal.folded("\(subject)\(problem.message.printable)", indent: indent)
        let hint = problem.hint.map { terminal.folded($0.printable, indent: indent) } ?? []
        return ["  \(terminal.styled("problem", .red))  \(text.first ?? "")"] + text.dropFirst()
            + hint.prefix(1).map { String(repeating: " ", count: indent) + $0 } + hint.dropFirst()
    }

    private func rows(of status: DaemonStatus) -> [(label: String, value: String)] {
        let account = status.account.map { "\($0.email ?? "anonymous (\($0.userID))") on \($0.server)" }
        var rows = [
            ("account", account ?? "none"), ("directory", status.tasksDirectory),
            ("tasks", "\(status.openTaskCount) open of \(status.taskCount)"), ("to send", pending(status)),
            ("to write", status.pendingDown == 0 ? "nothing" : "\(status.pendingDown)"),
            ("transfers", transfers(status)), ("last sync", status.lastSync.map { MomentWords.text($0) } ?? "never"),
        ]
        if status.rejected > 0 {
            rows.append(("rejected", "\(Count(status.rejected, "change")) that the server refused: ferry doctor"))
        }
        if status.heldDeletes > 0 {
            rows.append(("held", "\(Count(status.heldDeletes, "delete waits", "deletes wait")): ferry deletes"))
        }
        if status.heldReverts > 0 {
            rows.append(("held", "\(Count(status.heldReverts, "file")) went back to an older version: ferry deletes"))
        }
        if status.invitations > 0 { rows.append(("invitations", "\(status.invitations) to answer: ferry invitations")) }
        if status.sentInvitations > 0 {
            rows.append(("invited", "\(Count(status.sentInvitations, "invitation", "invitations")) not answered yet"))
        }
        if status.conflicts > 0 { rows.append(("conflicts", "\(status.conflicts): ferry conflicts")) }
        return rows.map { (label: $0.0, value: $0.1) }
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
