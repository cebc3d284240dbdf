import SQLite

/// Brings pending index entries into the table, a slice at a time in the order of its pages, and builds composite indexes.
///
/// Used inside the writer's transactions; what a step did counts only once `finish` is called after the commit.
struct IndexWriter {
    /// Entries of one step while nothing else is to be done.
    static let slice = 4000

    struct Step {
        fileprivate var next = 0
        fileprivate var isLast = false
    }

    let tables: DocumentTables
    let pending: PendingIndex
    /// So many pending entries are worth bringing into the table together.
    let batch: Int
    /// Whether there is a composite index that lacks documents.
    var isBuilding = false
    /// What is on its way, and how much of it is in the table.
    private var merging: (changes: IndexChanges, next: Int, through: Int64)?

    var builder: IndexBuilder { IndexBuilder(tables: tables) }
    var isMerging: Bool { merging != nil }
    var hasPending: Bool { isMerging || pending.activeCount > 0 }
    var hasWork: Bool { hasPending || isBuilding }

    init(tables: DocumentTables, pending: PendingIndex, batch: Int) {
        self.tables = tables
        self.pending = pending
        self.batch = batch
    }

    /// Puts up to `count` entries into the table.
    /// - Parameters:
    ///   - minimum: begins with a new batch only if more than this many are pending.
    ///   - time: the newest commit that has been published, at the beginning of a batch.
    mutating func step(of count: Int, ifMoreThan minimum: Int, through time: Int64) throws -> Step {
        if merging == nil, pending.activeCount > minimum { merging = (pending.freeze(through: time), 0, time) }
        guard let merging else { return Step() }
        let end = min(merging.changes.count, merging.next + max(count, 256))
        for index in merging.next..<end where !merging.changes.isOutdated(index) {
            try merging.changes.withRow(index) { row in
                let document = merging.changes.document(index)
                if document == 0 { try tables.removeEntry(row) } else { try tables.putEntry(row, document) }
            }
        }
        let isLast = end == merging.changes.count
        if isLast { try tables.setSetting("indexed", merging.through) }
        return Step(next: end, isLast: isLast)
    }

    /// The step's transaction is durable.
    mutating func finish(_ step: Step) {
        if step.isLast {
            merging = nil
            pending.settle()
        } else {
            merging?.next = step.next
        }
    }

    // MARK: Composite indexes

    mutating func register(_ index: CompositeIndex, of collection: Int64) throws -> Bool {
        let isNew = try builder.register(index, of: collection)
        isBuilding = isBuilding || isNew
        return isNew
    }

    /// Adds some documents to an index that lacks them. False when none does.
    mutating func build() throws -> Bool {
        guard isBuilding else { return false }
        isBuilding = try builder.continueBuilding()
        return isBuilding
    }
}
