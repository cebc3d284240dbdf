import DocumentModel
import Synchronization

/// Index entries of commits that are not in the index table yet. Shared by the writer and the
/// readers.
///
/// A commit would touch a page of the table for each of its entries. Therefore entries are
/// collected here, and the writer moves many at once into the table, in the order of its pages.
/// Readers overlay the table with the pending entries. Nothing is lost if the process ends, because
/// the log contains the commits (`IndexRecovery`).
final class PendingIndex: Sendable {
    /// The pending entries that a reader overlays on the table.
    struct View: Sendable {
        fileprivate var runs = Runs([])
        /// The last batch, for a snapshot taken before the batch was completely in the table.
        fileprivate var settled: IndexChanges?
        /// The newest commit that this reader sees. Changes of later commits are ignored.
        var visible: Int64 = 0
    }

    /// A list of runs shared by all readers, so that the cost of a read does not grow with the
    /// number of runs.
    fileprivate final class Runs: Sendable {
        let runs: [IndexChanges]

        init(_ runs: [IndexChanges]) { self.runs = runs }
    }

    private struct State {
        /// The frozen and the active runs.
        var shared = Runs([])
        /// The sorted runs of the newest commits.
        var active: [IndexChanges] = []
        /// The run that is being moved into the table.
        var frozen: (run: IndexChanges, through: Int64)?
        /// The run that was moved last, kept for readers with an older snapshot, whose table is as
        /// of `from`.
        var settled: (run: IndexChanges, from: Int64, through: Int64)

        mutating func share() { shared = Runs((frozen.map { [$0.run] } ?? []) + active) }
    }

    /// The size up to which runs are merged, so that readers need not search many runs.
    private static let runLimit = 2048

    private let state: Mutex<State>

    /// Creates the pending index of a database.
    ///
    /// - Parameters:
    ///   - indexed: the time up to which the table contains all commits.
    ///   - recovered: the changes of the commits after that time.
    init(indexed: Int64, recovered: IndexChanges = IndexChanges()) {
        let active = recovered.isEmpty ? [] : [recovered]
        state = Mutex(
            State(
                shared: Runs(active), active: active, settled: (IndexChanges(), from: indexed, through: indexed)))
    }

    /// The number of changes that are not being moved into the table yet.
    var activeCount: Int { state.withLock { $0.active.reduce(0) { $0 + $1.count } } }

    /// Returns the entries for a reader whose snapshot contains commits up to `visible`, and index
    /// entries up to `indexed`. Returns nil if the snapshot is too old, so that a new one must be
    /// taken.
    func view(indexed: Int64, visible: Int64) -> View? {
        state.withLock { state in
            // A frozen batch that is already in the table is harmless as an overlay.
            var view = View(runs: state.shared, visible: visible)
            if indexed < state.settled.through {
                guard indexed >= state.settled.from else { return nil }
                view.settled = state.settled.run
            }
            return view
        }
    }

    /// Adds the changes of a group of commits before the group becomes visible.
    func append(_ changes: IndexChanges) {
        guard !changes.isEmpty else { return }
        var run = changes
        run.sort()
        state.withLock { state in
            while let last = state.active.last, last.count < 2 * run.count, last.count + run.count <= Self.runLimit {
                run = last.merged(with: run)
                state.active.removeLast()
            }
            state.active.append(run)
            state.share()
        }
    }

    /// Removes the changes of a group that failed: all after `time`.
    func removeAll(after time: Int64) {
        state.withLock { state in
            for index in state.active.indices { state.active[index].removeAll(after: time) }
            state.active.removeAll(where: \.isEmpty)
            state.share()
        }
    }

    /// Marks everything up to `time` as being moved into the table, and returns it in order.
    func freeze(through time: Int64) -> IndexChanges {
        state.withLock { state in
            var runs = state.active
            while runs.count > 1 {
                runs = stride(from: 0, to: runs.count, by: 2).map { place in
                    place + 1 < runs.count ? runs[place].merged(with: runs[place + 1]) : runs[place]
                }
            }
            let run = runs.first ?? IndexChanges()
            state.active = []
            state.frozen = (run, time)
            state.share()
            return run
        }
    }

    /// Drops the batch kept for readers of older snapshots. Such a reader takes a new snapshot.
    func forgetSettled() {
        state.withLock { $0.settled = (IndexChanges(), from: $0.settled.through, through: $0.settled.through) }
    }

    /// Reports that the frozen changes are in the table.
    func settle() {
        state.withLock { state in
            guard let frozen = state.frozen else { return }
            state.settled = (frozen.run, from: state.settled.through, through: frozen.through)
            state.frozen = nil
            state.share()
        }
    }
}

/// Iterates over the pending changes of a range of rows, one per row, in the order of a scan.
struct PendingScan {
    private let visible: Int64
    private let descending: Bool
    /// Each run, and the part of it that remains.
    private var parts: [(run: IndexChanges, start: Int, end: Int)] = []

    init(_ view: PendingIndex.View, lower: [UInt8], upper: [UInt8], descending: Bool) {
        visible = view.visible
        self.descending = descending
        for run in view.runs.runs + (view.settled.map { [$0] } ?? []) {
            let (start, end) = (run.index(from: lower), run.index(from: upper))
            if start < end { parts.append((run, start, end)) }
        }
    }

    /// Returns the latest visible change of the next row.
    mutating func next() -> IndexRow? {
        while let row = nextRow() {
            var latest: (document: Int64, time: Int64)?
            for place in parts.indices {
                let run = parts[place].run
                while let index = head(of: place), run.compare(index, with: row) == 0 {
                    if descending { parts[place].end -= 1 } else { parts[place].start += 1 }
                    let time = run.time(index)
                    if time <= visible, time >= latest?.time ?? .min { latest = (run.document(index), time) }
                }
            }
            if let latest { return IndexRow(row: row, document: latest.document) }
        }
        return nil
    }

    private func head(of place: Int) -> Int? {
        let part = parts[place]
        guard part.start < part.end else { return nil }
        return descending ? part.end - 1 : part.start
    }

    private func nextRow() -> [UInt8]? {
        var best: (place: Int, index: Int)?
        for place in parts.indices {
            guard let index = head(of: place) else { continue }
            if let other = best {
                let order = parts[place].run.compare(index, with: other.index, of: parts[other.place].run)
                guard descending ? order > 0 : order < 0 else { continue }
            }
            best = (place, index)
        }
        return best.map { parts[$0.place].run.row($0.index) }
    }
}
