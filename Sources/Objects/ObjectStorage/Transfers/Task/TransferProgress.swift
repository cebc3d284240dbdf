import Synchronization

/// Counts what a transfer has done. One pass over a file counts from zero; what is shown never goes back.
final class TransferProgress: Sendable {
    struct Counts: Sendable, Equatable {
        var total: Int64?
        /// Raw bytes that are where they belong.
        var done: Int64 = 0
        /// Of those, how many the other side had already.
        var deduplicated: Int64 = 0
        /// Bytes of objects that travelled, over all passes.
        var wire: Int64 = 0
        /// The most that `done` has been.
        var best: Int64 = 0
    }

    private let counts = Mutex(Counts())
    private let changed: @Sendable () -> Void

    init(changed: @escaping @Sendable () -> Void) { self.changed = changed }

    var current: Counts { counts.withLock { $0 } }

    func begin(total: Int64?) {
        update { counts in
            counts.total = total
            counts.done = 0
            counts.deduplicated = 0
        }
    }

    /// A chunk that needed no transfer.
    func found(_ length: Int, wasSent: Bool) {
        update { counts in
            counts.done += Int64(length)
            if !wasSent { counts.deduplicated += Int64(length) }
        }
    }

    func sent(raw length: Int, wire: Int) {
        update { counts in
            counts.done += Int64(length)
            counts.wire += Int64(wire)
        }
    }

    /// Shows the sum of several files.
    func show(_ sum: Counts) {
        update { counts in
            let best = counts.best
            counts = sum
            counts.best = max(best, sum.best)
        }
    }

    private func update(_ change: (inout Counts) -> Void) {
        counts.withLock { counts in
            change(&counts)
            counts.best = max(counts.best, counts.done)
        }
        changed()
    }
}
