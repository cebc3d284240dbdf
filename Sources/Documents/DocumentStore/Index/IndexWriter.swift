import SQLite

/// Brings pending index entries into the tables, a slice at a time in the order of their pages, and builds composite
/// indexes.
///
/// Used inside the writer's transactions; what a step did counts only once `finish` is called after the commit.
struct IndexWriter {
    /// Entries of one step while nothing else is to be done.
    static let slice = 4000

    struct Step {
        fileprivate var next = 0
        fileprivate var isLast = false
        fileprivate var recentCount: Int
        fileprivate var moved: [UInt8]
    }

    /// Pending entries on their way.
    private struct Merge {
        let changes: IndexChanges
        /// How much of it is in the table.
        var next = 0
        /// All commits up to this time are in it.
        let through: Int64
        /// How far composite indexes are built once it is in the table.
        let built: [CompositeProgress]
    }

    let tables: DocumentTables
    let pending: PendingIndex
    /// So many pending entries are worth bringing into the table together.
    let batch: Int
    /// How many rows stay in the table of recent ones: a page has some 60, so that a batch brings six to each.
    private let recentLimit: Int
    var builder: IndexBuilder
    private var merge: Merge?
    private var recentCount: Int
    /// The row of `recent` up to which the present round has moved.
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

    /// Puts up to `count` entries into the table of recent ones, and moves as many on as it has too many.
    /// - Parameters:
    ///   - minimum: begins with a new batch only if more than this many are pending.
    ///   - time: the newest commit that has been published, at the beginning of a batch.
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

    /// Round and round, so that each part of the table gathers rows for the same time.
    private func move(_ count: Int, _ step: inout Step) throws {
        let (count, last) = try tables.index.move(after: step.moved, limit: count)
        step.recentCount -= count
        step.moved = last ?? []
    }

    /// The step's transaction has been committed.
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

    /// Adds the entries of some documents to the pending ones of an index that lacks them.
    /// - Parameter time: of the newest commit.
    mutating func build(at time: Int64) throws {
        if isBuilding { pending.append(try builder.next(at: time)) }
    }
}
