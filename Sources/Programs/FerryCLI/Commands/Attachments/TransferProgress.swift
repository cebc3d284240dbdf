import Control
import Glibc
import SystemIO

/// The progress of transfers that are being watched, on standard error.
///
/// On a terminal one line for each is drawn again with the events; elsewhere one line is printed
/// when a transfer is over.
struct TransferProgress {
    private(set) var transfers: [TransferSummary]
    /// The bytes that were done when the watching began.
    private let firstBytes: Int64
    private var toldStandstill: String?
    private let indices: [String: Int]
    private var openCount: Int
    private let terminal: Terminal
    private let isQuiet: Bool
    private var screen = RedrawnLines(stream: .error)

    /// More lines than people can follow are summed up in one.
    private static let lineLimit = 12

    init(_ transfers: [TransferSummary], terminal: Terminal, isQuiet: Bool) {
        self.transfers = transfers
        firstBytes = Self.bytesDone(transfers)
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
    ///
    /// - Throws: The reason, if nothing has moved yet, because the wait may be long.
    mutating func stand(still reason: CommandFailure) throws {
        let hasMoved = openCount < transfers.count || Self.bytesDone(transfers) > firstBytes
        guard hasMoved else {
            throw CommandFailure(
                "\(reason.message) The transfers wait and continue afterwards.", hint: reason.hint,
                status: reason.status, causes: reason.causes)
        }
        guard toldStandstill != reason.message else { return }
        toldStandstill = reason.message
        guard !isQuiet else { return }
        screen.end()
        terminal.note("ferry: \(reason.message.printable) Waiting for it.")
    }

    mutating func update(_ transfer: TransferSummary) {
        guard let index = indices[transfer.id] else { return }
        let before = transfers[index]
        transfers[index] = transfer
        openCount += (before.isOver ? 1 : 0) - (transfer.isOver ? 1 : 0)
        if !before.isOver, transfer.isOver { report(transfer) }
        draw(isUrgent: before.state != transfer.state || before.reason != transfer.reason)
    }

    /// Takes over everything that the daemon knows: it forgets transfers that are done.
    mutating func update(all known: [TransferSummary]) {
        for transfer in known { update(transfer) }
        let ids = Set(known.map(\.id))
        for var transfer in transfers where !transfer.isOver && !ids.contains(transfer.id) {
            transfer.state = .done
            transfer.bytesDone = transfer.bytesTotal
            update(transfer)
        }
    }

    mutating func finish() { draw(isUrgent: true) }

    private func report(_ transfer: TransferSummary) {
        guard !isQuiet, !terminal.redrawsErrors else { return }
        terminal.note(TransferLines.line(transfer))
    }

    private mutating func draw(isUrgent: Bool) {
        guard !isQuiet, terminal.redrawsErrors else { return }
        screen.draw(isUrgent: isUrgent) { [transfers, total] format, rows in
            let limit = max(1, min(rows - 1, Self.lineLimit))
            guard transfers.count > limit else { return TransferLines(transfers, showsID: false).lines(format) }
            let shown = transfers.filter { $0.state == .running }.prefix(limit - 1)
            return TransferLines(Array(shown), showsID: false).lines(format) + [total.cut(to: format.width ?? .max)]
        }
    }

    private var total: String {
        let done = Self.bytesDone(transfers)
        let bytes = transfers.reduce(0 as Int64) { $0.saturatingAdded(to: $1.bytesTotal) }
        let rate = transfers.reduce(0.0) { $0 + ($1.state == .running ? $1.rate ?? 0 : 0) }
        let pace = TransferLines.pace(rate, left: bytes.saturatingSubtracted(by: done))
        return "\(transfers.count - openCount) of \(transfers.count) files, "
            + "\(formatted(bytes: done)) of \(formatted(bytes: bytes))" + (pace.isEmpty ? "" : ", \(pace)")
    }

    private static func bytesDone(_ transfers: [TransferSummary]) -> Int64 {
        transfers.reduce(0) { $0.saturatingAdded(to: $1.bytesDone) }
    }
}
