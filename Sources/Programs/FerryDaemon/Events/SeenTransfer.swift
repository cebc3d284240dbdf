import Control
import TaskSync

/// A transfer as listeners know it. One that is begun again under its id may have failed again
/// before anybody looks, and then reads as it did: the run tells that there is news.
struct SeenTransfer: Sendable, Equatable {
    let summary: TransferSummary
    private let run: Int

    init(_ transfer: Transfer) {
        summary = TransferSummary(transfer)
        run = transfer.run
    }
}
