import CommandLineTool
import Control
import JSON

extension Command {
    static let status = Command.daemon(
        "status", group: "Sync", summary: "shows the state of syncing on one screen",
        discussion: """
            With --check the exit status is 0 if nothing needs you, 5 offline or paused, 6 attention needed, 7 sign-in
            needed. The manual lists every state under 'What waits'.
            """,
        options: [
            .json, Option("check", summary: "exit status only; prints nothing if there is no problem"),
            Option("watch", short: "w", summary: "show again with every change, with the transfers on a terminal"),
        ]
    ) { context in
        let status = try await context.announcing("The daemon does not answer yet.") {
            try await context.service.status()
        }
        guard !context.arguments.has("watch") else { return try await context.watchStatus() }
        if !context.arguments.has("check") || status.exitStatus != .success { context.show(status) }
        return context.arguments.has("check") ? status.exitStatus : .success
    }
}

extension DaemonStatus {
    /// The exit status of `--check`.
    var exitStatus: ExitStatus {
        switch state {
        case .needsSignIn: .needsSignIn
        case .offline, .starting, .stopping: .offline
        case .rootHeld, .serverHeld, .configurationError: .attention
        case .paused: needsAttention ? .attention : .offline
        case .running, .unknown: needsAttention ? .attention : .success
        }
    }
}

extension CommandContext {
    /// Shows the status and, on a terminal, the transfers in progress, until the daemon stops or the
    /// output cannot be written.
    fileprivate func watchStatus() async throws -> ExitStatus {
        let redraws = terminal.redraws && !wantsJSON
        var watch = StatusWatch(terminal)
        var isAlive = true
        // A stream also ends if more happened at once than the daemon keeps for a client.
        while isAlive {
            isAlive = false
            let events = try await service.events(after: nil)
            if redraws { watch.transfers = try await service.transfers().filter { !$0.isOver } }
            for try await event in events {
                isAlive = true
                switch event.kind {
                case .status:
                    let status = try DaemonStatus(json: event.data)
                    if redraws { watch.update(status) } else { show(status) }
                case .transfer where redraws: watch.update(try TransferSummary(json: event.data))
                default: continue
                }
                try StandardOutput.check()
            }
        }
        throw ControlError(.notRunning, "The daemon stopped.", hint: "systemctl --user start ferryd", isRetryable: true)
    }

    func show(_ status: DaemonStatus) {
        guard !wantsJSON else {
            terminal.print(status.json.text)
            return
        }
        terminal.print(lines: StatusScreen(terminal: terminal, isVerbose: arguments.has("verbose")).lines(of: status))
    }
}
