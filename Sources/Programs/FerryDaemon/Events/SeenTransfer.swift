import Control
import TaskSync

/// A transfer as listeners know it.
///
/// A transfer that is restarted under its id may fail again before the next look, and then has the
/// same summary. The run number distinguishes the two.
struct SeenTransfer: Sendable, Equatable {
    let summary: TransferSummary
    private let run: Int

    init(_ transfer: Transfer) {
        summary = TransferSummary(transfer)
        run = transfer.run
    }
}
