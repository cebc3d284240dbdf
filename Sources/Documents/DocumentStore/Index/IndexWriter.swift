import SQLite

/// Moves pending index entries into the tables, a slice at a time in the order of their pages, and
/// builds composite indexes.
///
/// Used inside the writer's transactions. A step takes effect only when `finish` is called after
/// the commit.
struct IndexWriter {
    /// The number of entries per step while there is no other work.
    static let slice = 4000

    struct Step {
        fileprivate var next = 0
        fileprivate var isLast = false
        fileprivate var recentCount: Int
        fileprivate var moved: [UInt8]
    }

    /// Pending entries that are being moved into the table.
    private struct Merge {
        let changes: IndexChanges
        /// The number of entries that are in the table.
        var next = 0
        /// The time up to which all commits are included.
        let through: Int64
        /// The progress of composite indexes once these entries are in the table.
        let built: [CompositeProgress]
    }

    let tables: DocumentTables
    let pending: PendingIndex
    /// The number of pending entries that are moved into the table together.
    let batch: Int
    /// The maximum number of rows in the table of recent entries. A page has about 60 rows, so a
    /// batch adds six to each.
    private let recentLimit: Int
    var builder: IndexBuilder
    private var merge: Merge?
    private var recentCount: Int
    /// The row of `recent` up to which the current pass has moved.
    private var moved: [UInt8] = []

    var isBuilding: Bool { builder.isBuilding }
    var isBusy: Bool { merge != nil || isBuilding || isOverfull }
    var hasPending: Bool { merge != nil || pending.activeCount > 0 }
    var hasWork: Bool { hasPending || isBuilding || isOverfull }
    private var isOverfull: Bool { recentCount > recentLimit }

    init(tables: DocumentTables, pending: PendingIndex, batch: Int) throws {
        self.tables = tables
        self.pending = pending
        self.batch = batch
        recentLimit = 10 * batch
        recentCount = Int(try tables.setting("recent"))
        builder = try IndexBuilder(tables: tables)
    }

    /// Stores up to `count` entries in the table of recent entries, and moves on as many as exceed
    /// its limit.
    ///
    /// - Parameters:
    ///   - minimum: a new batch is started only if more entries than this are pending.
    ///   - time: the time of the newest commit that has been published, at the start of a batch.
    mutating func step(of count: Int, ifMoreThan minimum: Int, through time: Int64) throws -> Step {
        if merge == nil, pending.activeCount > minimum {
            merge = Merge(changes: pending.freeze(through: time), through: time, built: builder.progress)
        }
        var step = Step(recentCount: recentCount, moved: moved)
        let count = max(count, 256)
        if let merge { try put(merge, count, &step) }
        if step.recentCount > recentLimit { try move(count, &step) }
        if step.recentCount != recentCount { try tables.setSetting("recent", Int64(step.recentCount)) }
        return step
    }

    private func put(_ merge: Merge, _ count: Int, _ step: inout Step) throws {
        step.next = min(merge.changes.count, merge.next + count)
        for index in merge.next..<step.next where !merge.changes.isOutdated(index) {
            let isNew = try merge.changes.withRow(index) { try tables.index.put($0, merge.changes.document(index)) }
            if isNew { step.recentCount += 1 }
        }
        guard step.next == merge.changes.count else { return }
        step.isLast = true
        try tables.setSetting("indexed", merge.through)
        try builder.save(merge.built)
    }

    /// Moves rows in repeated passes, so that each part of the table gathers rows for the same
    /// time.
    private func move(_ count: Int, _ step: inout Step) throws {
        let (count, last) = try tables.index.move(after: step.moved, limit: count)
        step.recentCount -= count
        step.moved = last ?? []
    }

    /// Reports that the step's transaction has been committed.
    mutating func finish(_ step: Step) {
        recentCount = step.recentCount
        moved = step.moved
        guard let merge else { return }
        if step.isLast {
            builder.saved(merge.built)
            self.merge = nil
            pending.settle()
        } else {
            self.merge?.next = step.next
        }
    }

    // MARK: Composite indexes

    /// Adds the entries of some documents to the pending entries of an index that is being built.
    ///
    /// - Parameter time: the time of the newest commit.
    mutating func build(at time: Int64) throws {
        if isBuilding { pending.append(try builder.next(at: time)) }
    }
}
