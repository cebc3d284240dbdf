import CommandLineTool
import Control

extension Command {
    static let transfers = Command.daemon(
        "transfers", group: "Attachments", summary: "shows, pauses, resumes and cancels transfers",
        subcommands: [
            .daemon(
                "list", group: "", summary: "shows the transfers",
                options: [.json, Option("watch", short: "w", summary: "show progress until all are over")]
            ) { context in
                let transfers = try await context.service.transfers()
                if context.arguments.has("watch") {
                    return context.status(of: try await context.watch(transfers.filter { !$0.isOver }))
                }
                context.show(transfers)
                return .success
            },
            changing("pause", .pause, "pauses transfers; this survives a restart"),
            changing("resume", .resume, "resumes paused or failed transfers"),
            changing("cancel", .cancel, "cancels transfers"),
        ], defaultSubcommand: "list")

    private static func changing(_ name: String, _ action: TransferAction, _ summary: String) -> Command {
        .daemon(
            name, group: "", summary: summary,
            arguments: [
                Argument("ID", .any, summary: "a transfer's id or its beginning", completion: .program("transfers"))
            ],
            options: [Option("all", summary: "all of them"), .json]
        ) { context in
            let ids = context.arguments.arguments("ID")
            guard context.arguments.has("all") != !ids.isEmpty else {
                throw UsageError("Name the transfers, or say --all.", path: ["transfers", name])
            }
            context.show(try await context.service.changeTransfers(action, ids: ids))
            return .success
        }
    }
}

extension CommandContext {
    fileprivate func show(_ transfers: [TransferSummary]) {
        if wantsJSON {
            print(document: ("transfers", transfers.json))
            return
        }
        var table = Table()
        for transfer in transfers { table.add(TransferProgress.cells(transfer)) }
        for line in table.lines(width: terminal.width, style: { $1 }) { terminal.print(line) }
    }

    /// Shows the transfers' progress until all are over, and returns their last state. On a terminal the lines are drawn again
    /// with each event; elsewhere one line a transfer is printed when it is over.
    func watch(_ transfers: [TransferSummary]) async throws -> [TransferSummary] {
        var progress = TransferProgress(transfers, terminal: terminal, isQuiet: wantsJSON)
        progress.draw()
        guard !progress.isOver else { return progress.transfers }
        let events = try await service.events(after: nil)
        // What happened between the first answer and the first event is in the list as it is now.
        for transfer in try await service.transfers() { progress.update(transfer) }
        progress.draw()
        if progress.isOver { return progress.transfers }
        for try await event in events where event.kind == .transfer {
            progress.update(try TransferSummary(json: event.data))
            progress.draw()
            if progress.isOver { return progress.transfers }
        }
        throw ControlError(
            .unavailable, "The daemon stopped.", hint: "Transfers go on when it starts again: ferry transfers --watch.",
            isRetryable: true)
    }
}

/// The lines of transfers that are being watched.
private struct TransferProgress {
    private(set) var transfers: [TransferSummary]
    private let terminal: Terminal
    private let isQuiet: Bool
    private var drawnLines = 0
    private var reported: Set<String> = []

    init(_ transfers: [TransferSummary], terminal: Terminal, isQuiet: Bool) {
        self.transfers = transfers
        self.terminal = terminal
        self.isQuiet = isQuiet
    }

    var isOver: Bool { transfers.allSatisfy(\.isOver) }

    mutating func update(_ transfer: TransferSummary) {
        guard let index = transfers.firstIndex(where: { $0.id == transfer.id }) else { return }
        transfers[index] = transfer
    }

    mutating func draw() {
        guard !isQuiet else { return }
        guard terminal.errorIsInteractive else {
            for transfer in transfers where transfer.isOver && reported.insert(transfer.id).inserted {
                terminal.note(Self.cells(transfer).dropFirst().filter { !$0.isEmpty }.joined(separator: "  "))
            }
            return
        }
        var table = Table()
        for transfer in transfers { table.add(Array(Self.cells(transfer).dropFirst())) }
        let up = drawnLines > 0 ? "\u{1B}[\(drawnLines)A" : ""
        let lines = table.lines(width: terminal.width, style: { $1 })
        terminal.progress(up + lines.map { "\u{1B}[2K\($0)\n" }.joined())
        drawnLines = lines.count
    }

    /// Id, arrow, name, share, bytes, rate and time left, state.
    static func cells(_ transfer: TransferSummary) -> [String] {
        let total = max(transfer.bytesTotal, 1)
        let percent = transfer.bytesTotal == 0 ? 100 : Int(transfer.bytesDone * 100 / total)
        var pace = ""
        if let rate = transfer.rate, rate > 0, transfer.state == .running {
            let left = Double(transfer.bytesTotal - transfer.bytesDone) / rate
            pace =
                "\(formatted(bytes: Int64(clamping: Int(min(rate, 1e15)))))/s, \(formatted(seconds: min(left, 1e9))) left"
        }
        return [
            String(transfer.id.prefix(8)), transfer.direction == .download ? "↓" : "↑", transfer.name.printable,
            "\(percent)%",
            "\(formatted(bytes: transfer.bytesDone)) of \(formatted(bytes: transfer.bytesTotal))", pace,
            transfer.state.rawValue + (transfer.reason.map { ": \($0.printable)" } ?? ""),
        ]
    }
}
