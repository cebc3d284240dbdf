import Synchronization

/// The progress of a transfer. Each attempt counts from zero, but the displayed progress never goes
/// back.
final class TransferProgress: Sendable {
    struct Counts: Sendable, Equatable {
        var total: Int64?
        /// The number of bytes of the file that are in place.
        var done: Int64 = 0
        /// The part of `done` that the receiver had already.
        var deduplicated: Int64 = 0
        /// The number of bytes of objects that were transferred in all attempts.
        var wire: Int64 = 0
        /// The maximum value of `done` so far.
        var best: Int64 = 0
    }

    private let counts = Mutex(Counts())
    private let changed: @Sendable () -> Void

    init(changed: @escaping @Sendable () -> Void) { self.changed = changed }

    var current: Counts { counts.withLock { $0 } }

    /// Begins an attempt.
    func begin(total: Int64?) {
        update { counts in
            counts.total = total
            counts.done = 0
            counts.deduplicated = 0
        }
    }

    /// Counts a chunk that needed no transfer.
    func found(_ length: Int, wasSent: Bool) {
        update { counts in
            counts.done += Int64(length)
            if !wasSent { counts.deduplicated += Int64(length) }
        }
    }

    /// Counts a chunk that was transferred.
    func sent(raw length: Int, wire: Int) {
        update { counts in
            counts.done += Int64(length)
            counts.wire += Int64(wire)
        }
    }

    /// Replaces the counts by the sum of several files.
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
