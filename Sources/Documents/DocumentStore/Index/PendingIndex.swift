import DocumentModel
import Synchronization

/// Index entries of commits that are not in the index table yet, shared by the writer and the readers.
///
/// A commit would touch a page of the table for each of its entries; so entries gather here, and the writer brings many
/// at once into the table, in the order of its pages. Readers lay what is pending over what the table has. Nothing is
/// lost with the process: the log has the commits (`IndexRecovery`).
final class PendingIndex: Sendable {
    /// What a reader lays over the table.
    struct View: Sendable {
        fileprivate var runs = Runs([])
        /// For a snapshot from before a batch was wholly in the table: that batch.
        fileprivate var settled: IndexChanges?
        /// Changes of later commits are not there yet for this reader.
        var visible: Int64 = 0
    }

    /// Shared by all readers, so that a read costs no more the more runs there are.
    fileprivate final class Runs: Sendable {
        let runs: [IndexChanges]

        init(_ runs: [IndexChanges]) { self.runs = runs }
    }

    private struct State {
        /// What has been frozen and is active.
        var shared = Runs([])
        /// Each ordered; together the changes of the newest commits.
        var active: [IndexChanges] = []
        /// On its way into the table.
        var frozen: (run: IndexChanges, through: Int64)?
        /// In the table, kept for readers whose snapshot is older: they have the table as of `from`.
        var settled: (run: IndexChanges, from: Int64, through: Int64)

        mutating func share() { shared = Runs((frozen.map { [$0.run] } ?? []) + active) }
    }

    /// Runs grow together up to this size, so that readers need not look into many.
    private static let runLimit = 2048

    private let state: Mutex<State>

    /// - Parameters:
    ///   - indexed: the time up to which the table has all commits.
    ///   - recovered: the changes of the commits after it.
    init(indexed: Int64, recovered: IndexChanges = IndexChanges()) {
        let active = recovered.isEmpty ? [] : [recovered]
        state = Mutex(
            State(
                shared: Runs(active), active: active, settled: (IndexChanges(), from: indexed, through: indexed)))
    }

    /// How many changes wait that are not on their way into the table.
    var activeCount: Int { state.withLock { $0.active.reduce(0) { $0 + $1.count } } }

    /// What a reader needs whose snapshot has commits up to `visible`, and in its table those up to `indexed`; nil if that
    /// is too long ago, so that a new snapshot must be taken.
    func view(indexed: Int64, visible: Int64) -> View? {
        state.withLock { state in
            // A frozen batch that is in the table already does no harm on top of it.
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

    /// Takes back the changes of a group that failed: all after `time`.
    func removeAll(after time: Int64) {
        state.withLock { state in
            for index in state.active.indices { state.active[index].removeAll(after: time) }
            state.active.removeAll(where: \.isEmpty)
            state.share()
        }
    }

    /// Marks everything up to `time` as on its way into the table, and answers it in order.
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

    /// Forgets what only readers of older snapshots need; one that comes late takes a new snapshot.
    func forgetSettled() {
        state.withLock { $0.settled = (IndexChanges(), from: $0.settled.through, through: $0.settled.through) }
    }

    /// The frozen changes are in the table.
    func settle() {
        state.withLock { state in
            guard let frozen = state.frozen else { return }
            state.settled = (frozen.run, from: state.settled.through, through: frozen.through)
            state.frozen = nil
            state.share()
        }
    }
}

/// The pending changes of a range of rows, one a row, in the order of a scan.
struct PendingScan {
    private let visible: Int64
    private let descending: Bool
    /// Each run, and the part of it that is left.
    private var parts: [(run: IndexChanges, start: Int, end: Int)] = []

    init(_ view: PendingIndex.View, lower: [UInt8], upper: [UInt8], descending: Bool) {
        visible = view.visible
        self.descending = descending
        for run in view.runs.runs + (view.settled.map { [$0] } ?? []) {
            let (start, end) = (run.index(from: lower), run.index(from: upper))
            if start < end { parts.append((run, start, end)) }
        }
    }

    /// The next row's latest visible change.
    mutating func next() -> IndexReader.Entry? {
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
            if let latest { return IndexReader.Entry(row: row, document: latest.document) }
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
