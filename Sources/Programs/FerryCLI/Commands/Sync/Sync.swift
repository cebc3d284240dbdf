import CommandLineTool
import Control
import JSON
import SystemIO

extension Command {
    static let sync = Command.daemon(
        "sync", group: "Sync", summary: "checks for changes on both sides now",
        discussion: """
            --dry-run shows what would be done and does nothing: 'send', 'upload' and 'delete' go to the server,
            'write', 'download' and 'remove' change files here, 'hold' waits for 'ferry deletes', and 'leave' changes
            nothing.

            The exit status is 5 if syncing is paused or the server cannot be reached. With --wait it is 6 if something
            still waits for you: changes that the server refused, held deletes, paused or failed transfers.
            """,
        options: [
            Option("dry-run", short: "n", summary: "only show what would be done"),
            Option("wait", summary: "return when both sides are in sync"),
            Option("timeout", value: "SECONDS", summary: "give up waiting after this time (default 60)"), .json,
        ]
    ) { context in
        if context.arguments.has("dry-run") {
            context.show(try await context.service.plan())
            return .success
        }
        let timeout = try context.arguments.integer("timeout", in: 0...86_400) ?? 60
        let waits = context.arguments.has("wait")
        if waits, case let status = try await context.service.status(), status.state == .offline {
            context.terminal.note("\(status.plainReason?.printable ?? "Offline.") Waiting up to \(timeout) s.")
        }
        let reporting = waits ? Task { await StandstillReport(context.service, context.terminal).run() } : nil
        defer { reporting?.cancel() }
        var status =
            waits
            ? try await context.service.sync(wait: true, timeout: .seconds(timeout))
            : try await context.announcing("Looking for changes on both sides.") {
                try await context.service.sync(wait: false, timeout: .seconds(timeout))
            }
        if status.state == .offline { status = try await context.statusAfterRetry() }
        if context.wantsJSON { context.terminal.print(status.json.text) }
        // Local changes were scanned, but nothing is sent or received.
        if let standstill = status.standstill { throw standstill }
        return .success
    }

    static let pause = pausing(
        "pause", true, "stops syncing until 'ferry resume'; files can be edited meanwhile",
        discussion: """
            To unmount the file system of the tasks directory, pause first: the daemon then keeps nothing on it open. It
            also closes the directory after some seconds without work. Syncing continues when the file system is mounted
            again; no file counts as deleted meanwhile.
            """)
    static let resume = pausing("resume", false, "syncs again")

    static let rebind = Command.daemon(
        "rebind", group: "Sync",
        summary: "accepts another tasks directory or server; files are merged, nothing is deleted",
        discussion: """
            If the tasks directory or the server was replaced, or the server was restored to an earlier state,
            everything is held, and 'ferry status' says why. This command accepts both as they are now. Files and
            documents that only one side has are copied to the other. Of a task that differs, the later version wins, or
            the local changes that were not sent. Replaced values are in the task's history. If a part of the directory
            cannot be read, files that are missing come back when it can be read again, because they may be in that
            part.
            """, options: [.json]
    ) { context in
        let status = try await context.service.rebind()
        if context.wantsJSON { context.terminal.print(status.json.text) }
        return .success
    }

    private static func pausing(
        _ name: String, _ isPaused: Bool, _ summary: String, discussion: String = ""
    ) -> Command {
        .daemon(name, group: "Sync", summary: summary, discussion: discussion, options: [.json]) { context in
            let status = try await context.service.setPaused(isPaused)
            if context.wantsJSON { context.terminal.print(status.json.text) }
            return .success
        }
    }
}

extension CommandContext {
    /// Returns the status after the daemon has had time to connect. A sync makes it try again at
    /// once.
    fileprivate func statusAfterRetry() async throws -> DaemonStatus {
        let clock = ContinuousClock()
        let end = clock.now + .seconds(2)
        while true {
            let status = try await service.status()
            guard status.state == .offline, clock.now < end else { return status }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    fileprivate func show(_ plan: SyncPlan) {
        guard !wantsJSON else { return terminal.print(plan.json.text) }
        if let remark = plan.remark { terminal.note(remark.printable) }
        var table = Table(flexible: [1])
        for step in plan.steps {
            let details = [step.detail?.printable, step.size.map { formatted(bytes: $0) }].compactMap(\.self)
            table.add([step.action, step.subject.printable, details.joined(separator: ", ")])
        }
        terminal.print(lines: table.lines(terminal.format, style: { $1 }))
        if plan.steps.isEmpty { terminal.note("Nothing to do.") }
    }
}
