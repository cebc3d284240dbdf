import CommandLineTool
import Control
import JSON

extension Command {
    static let status = Command.daemon(
        "status", group: "Sync", summary: "shows on one screen how sync is doing",
        discussion: """
            With --check the exit status tells: 0 nothing needs you, 5 offline or paused, 6 attention needed, 7 sign-in needed. The manual has every state under 'What waits'.
            """,
        options: [
            .json, Option("check", summary: "exit status only; prints nothing when all is well"),
            Option("watch", short: "w", summary: "print again with every change"),
        ]
    ) { context in
        let status = try await context.service.status()
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
        case .rootHeld, .serverHeld: .attention
        case .paused: needsAttention ? .attention : .offline
        case .running, .unknown: needsAttention ? .attention : .success
        }
    }
}

extension CommandContext {
    fileprivate func watchStatus() async throws -> ExitStatus {
        for try await event in try await service.events(after: nil) where event.kind == .status {
            show(try DaemonStatus(json: event.data))
            try StandardOutput.check()
        }
        return .success
    }

    func show(_ status: DaemonStatus) {
        guard !wantsJSON else {
            terminal.print(status.json.text)
            return
        }
        terminal.print(lines: StatusScreen(terminal: terminal).lines(of: status))
    }
}
