import CommandLineTool
import Control

extension Command {
    static let transfers = Command.daemon(
        "transfers", group: "Attachments", summary: "shows, pauses, resumes and cancels transfers",
        subcommands: [
            .daemon(
                "list", group: "", summary: "shows the transfers",
                options: [.json, Option("watch", short: "w", summary: "show progress until all have ended")]
            ) { context in
                let transfers = try await context.service.transfers()
                if context.arguments.has("watch") {
                    return context.status(
                        of: try await context.watch(transfers.filter { !$0.isOver }, endsAtStandstill: false))
                }
                context.show(transfers)
                return .success
            },
            changing("pause", .pause, "pauses transfers, also across restarts"),
            changing("resume", .resume, "resumes paused or failed transfers"),
            changing("cancel", .cancel, "cancels transfers; the file of an upload stays here, unattached"),
        ], defaultSubcommand: "list")

    private static func changing(_ name: String, _ action: TransferAction, _ summary: String) -> Command {
        .daemon(
            name, group: "", summary: summary,
            arguments: [
                Argument("ID", .any, summary: "the id of a transfer, or its start", completion: .program("transfers"))
            ],
            options: [Option("all", summary: "all of them"), .json]
        ) { context in
            let ids = context.arguments.arguments("ID")
            guard context.arguments.has("all") != !ids.isEmpty else {
                throw UsageError("Name the transfers, or give --all.", path: ["transfers", name])
            }
            guard !ids.isEmpty else {
                context.show(try await context.service.changeTransfers(action, ids: []))
                return .success
            }
            let outcome = try await context.each(ids) { try await context.service.changeTransfers(action, ids: [$0]) }
            context.show(outcome.results.flatMap { $0 })
            return outcome.status
        }
    }
}

extension CommandContext {
    fileprivate func show(_ transfers: [TransferSummary]) {
        if wantsJSON {
            print(document: ("transfers", transfers.json))
            return
        }
        let table = TransferLines(transfers, showsID: true)
        terminal.print(lines: table.lines(terminal.format) { $0 == 0 ? terminal.styled($1, .faint) : $1 })
        if transfers.isEmpty { terminal.note("No transfers.") }
    }

    /// Shows the progress of transfers until all have ended, and returns their final state. On a
    /// terminal the lines are redrawn; elsewhere one line for each transfer is printed when it
    /// ends.
    ///
    /// - Parameter endsAtStandstill: Whether the command ends with the reason if syncing is paused
    ///   or the server cannot be reached.
    /// - Throws: `CommandFailure` for a standstill.
    func watch(
        _ transfers: [TransferSummary], endsAtStandstill: Bool = true
    ) async throws -> [TransferSummary] {
        Interruption.says("\nferry: stopped watching; the daemon continues. 'ferry transfers --watch' shows it.\n")
        defer { Interruption.saysNothing() }
        var progress = TransferProgress(transfers, terminal: terminal, isQuiet: wantsJSON)
        while !progress.isOver {
            let events = try await service.events(after: nil)
            // Events before the first one received are reflected in the current list.
            progress.update(all: try await service.transfers())
            if progress.isOver { break }
            for try await event in events {
                switch event.kind {
                case .transfer: progress.update(try TransferSummary(json: event.data))
                case .status:
                    if endsAtStandstill, let standstill = try DaemonStatus(json: event.data).standstill {
                        try progress.stand(still: standstill)
                    }
                default: continue
                }
                if progress.isOver { break }
                if endsAtStandstill, progress.isPaused {
                    throw CommandFailure(
                        "The transfers are paused.", hint: "ferry transfers resume --all", status: .offline)
                }
            }
            // Otherwise the daemon has stopped, or there were more events than it buffers for a
            // listener; connect again.
        }
        progress.finish()
        return progress.transfers
    }
}
