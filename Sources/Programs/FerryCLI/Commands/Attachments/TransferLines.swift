import Control
import SystemIO

/// One line for each transfer: id if wanted, arrow, name, share, bytes, rate and time left, state.
///
/// On a narrow terminal the reason and the name are shortened; then the bytes are left out, and then
/// the rate.
struct TransferLines {
    private var table: Table

    init(_ transfers: [TransferSummary], showsID: Bool) {
        let first = showsID ? 1 : 0
        table = Table(flexible: [first + 5, first + 1], droppable: [first + 3, first + 4])
        for transfer in transfers {
            let cells = Self.cells(transfer)
            table.add(showsID ? [String(transfer.id.prefix(8))] + cells : cells)
        }
    }

    func lines(_ format: Table.Format, style: (_ column: Int, _ cell: String) -> String = { $1 }) -> [String] {
        table.lines(format, style: style)
    }

    /// The line of one transfer without a terminal.
    static func line(_ transfer: TransferSummary) -> String {
        cells(transfer).filter { !$0.isEmpty }.map(\.printable).joined(separator: "  ")
    }

    private static func cells(_ transfer: TransferSummary) -> [String] {
        let percent = transfer.bytesDone.percentage(of: transfer.bytesTotal)
        return [
            transfer.direction == .download ? "↓" : "↑", transfer.name, "\(percent)%",
            "\(formatted(bytes: transfer.bytesDone)) of \(formatted(bytes: transfer.bytesTotal))",
            transfer.state == .running
                ? pace(transfer.rate, left: transfer.bytesTotal.saturatingSubtracted(by: transfer.bytesDone)) : "",
            transfer.state.rawValue + (transfer.reason.map { ": \($0)" } ?? ""),
        ]
    }

    /// The rate and the time left; empty while the rate is not known.
    static func pace(_ rate: Double?, left: Int64) -> String {
        guard let rate, rate > 0 else { return "" }
        let time = formatted(seconds: min(Double(left) / rate, 1e9))
        return "\(formatted(bytes: Int64(saturating: rate)))/s, \(time) left"
    }
}
