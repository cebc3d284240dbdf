import CommandLineTool
import Control
import SystemIO

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
                    return context.status(
                        of: try await context.watch(transfers.filter { !$0.isOver }, endsAtStandstill: false))
                }
                context.show(transfers)
                return .success
            },
            changing("pause", .pause, "pauses transfers; this survives a restart"),
            changing("resume", .resume, "resumes paused or failed transfers"),
            changing("cancel", .cancel, "cancels transfers; the file of an upload stays here, unattached"),
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
        var table = Table()
        for transfer in transfers { table.add(TransferProgress.cells(transfer)) }
        for line in table.lines(width: terminal.width, style: { $1 }) { terminal.print(line) }
    }

    /// Shows the transfers' progress until all are over, and returns their last state. On a
    /// terminal the lines are drawn again with the events; elsewhere one line a transfer is printed
    /// when it is over.
    ///
    /// - Parameter endsAtStandstill: Whether a pause, or a server that cannot be reached, ends the command with its reason.
    /// - Throws: `CommandFailure` for a standstill.
    func watch(
        _ transfers: [TransferSummary], endsAtStandstill: Bool = true
    ) async throws -> [TransferSummary] {
        Interruption.says("\nferry: stopped watching; the daemon goes on. 'ferry transfers --watch' shows it.\n")
        defer { Interruption.saysNothing() }
        var progress = TransferProgress(transfers, terminal: terminal, isQuiet: wantsJSON)
        while !progress.isOver {
            let events = try await service.events(after: nil)
            // What happened before the first event is in the list as it is now.
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
            // Otherwise the daemon has stopped, or more happened at once than it keeps for us.
        }
        progress.finish()
        return progress.transfers
    }
}

/// The lines of transfers that are being watched.
private struct TransferProgress {
    private(set) var transfers: [TransferSummary]
    /// Bytes that were done when the watching began.
    private let firstBytes: Int64
    private var toldStandstill: String?
    private let indices: [String: Int]
    private var openCount: Int
    private let terminal: Terminal
    private let isQuiet: Bool
    private var drawnLines = 0
    private var drawnTime: ContinuousClock.Instant?

    /// On a terminal: more than people can follow.
    private static let lineLimit = 12
    private static let pace = Duration.milliseconds(100)

    init(_ transfers: [TransferSummary], terminal: Terminal, isQuiet: Bool) {
        self.transfers = transfers
        firstBytes = transfers.reduce(0) { $0 + $1.bytesDone }
        indices = Dictionary(zip(transfers.map(\.id), transfers.indices), uniquingKeysWith: { $1 })
        openCount = transfers.count { !$0.isOver }
        self.terminal = terminal
        self.isQuiet = isQuiet
        for transfer in transfers where transfer.isOver { report(transfer) }
    }

    var isOver: Bool { openCount == 0 }

    /// Whether a command has paused all that are left.
    var isPaused: Bool { !isOver && transfers.allSatisfy { $0.isOver || $0.state == .paused } }

    /// Says once why nothing goes on for now.
    /// - Throws: the reason, where nothing has moved yet: whoever waits would wait for a long time.
    mutating func stand(still reason: CommandFailure) throws {
        let hasMoved = openCount < transfers.count || transfers.reduce(0) { $0 + $1.bytesDone } > firstBytes
        guard hasMoved else {
            throw CommandFailure(
                "\(reason.message) The transfers wait, and go on when that is over.", hint: reason.hint,
                status: reason.status)
        }
        guard toldStandstill != reason.message else { return }
        toldStandstill = reason.message
        if !isQuiet { terminal.note("ferry: \(reason.message.printable) Waiting for it.") }
    }

    mutating func update(_ transfer: TransferSummary) {
        guard let index = indices[transfer.id] else { return }
        let wasOver = transfers[index].isOver
        transfers[index] = transfer
        openCount += (wasOver ? 1 : 0) - (transfer.isOver ? 1 : 0)
        if !wasOver, transfer.isOver { report(transfer) }
        let now = ContinuousClock.now
        if drawnTime.map({ now - $0 >= Self.pace }) ?? true {
            draw()
            drawnTime = now
        }
    }

    /// With all that the daemon knows: it forgets what is done.
    mutating func update(all known: [TransferSummary]) {
        for transfer in known { update(transfer) }
        let ids = Set(known.map(\.id))
        for var transfer in transfers where !transfer.isOver && !ids.contains(transfer.id) {
            transfer.state = .done
            transfer.bytesDone = transfer.bytesTotal
            update(transfer)
        }
    }

    mutating func finish() { draw() }

    /// Where lines are not drawn again.
    private func report(_ transfer: TransferSummary) {
        guard !isQuiet, !terminal.errorIsInteractive else { return }
        terminal.note(Self.cells(transfer).dropFirst().filter { !$0.isEmpty }.joined(separator: "  "))
    }

    private mutating func draw() {
        guard !isQuiet, terminal.errorIsInteractive else { return }
        var table = Table()
        let isShort = transfers.count <= Self.lineLimit
        let shown = isShort ? transfers[...] : transfers.filter { $0.state == .running }.prefix(Self.lineLimit - 1)
        for transfer in shown { table.add(Array(Self.cells(transfer).dropFirst())) }
        var lines = table.lines(width: terminal.width, style: { $1 })
        if !isShort { lines.append(total) }
        let up = drawnLines > 0 ? "\u{1B}[\(drawnLines)A\u{1B}[J" : ""
        terminal.progress(up + lines.map { "\($0)\n" }.joined())
        drawnLines = lines.count
    }

    private var total: String {
        let done = transfers.reduce(0 as Int64) { $0.saturatingAdded(to: $1.bytesDone) }
        let bytes = transfers.reduce(0 as Int64) { $0.saturatingAdded(to: $1.bytesTotal) }
        return "\(transfers.count - openCount) of \(transfers.count) files, "
            + "\(formatted(bytes: done)) of \(formatted(bytes: bytes))"
    }

    /// Id, arrow, name, share, bytes, rate and time left, state.
    static func cells(_ transfer: TransferSummary) -> [String] {
        let percent = transfer.bytesDone.percentage(of: transfer.bytesTotal)
        var pace = ""
        if let rate = transfer.rate, rate > 0, transfer.state == .running {
            let left = Double(transfer.bytesTotal.saturatingSubtracted(by: transfer.bytesDone)) / rate
            pace = "\(formatted(bytes: Int64(saturating: rate)))/s, \(formatted(seconds: min(left, 1e9))) left"
        }
        return [
            String(transfer.id.prefix(8)), transfer.direction == .download ? "↓" : "↑", transfer.name.printable,
            "\(percent)%",
            "\(formatted(bytes: transfer.bytesDone)) of \(formatted(bytes: transfer.bytesTotal))", pace,
            transfer.state.rawValue + (transfer.reason.map { ": \($0.printable)" } ?? ""),
        ]
    }
}
