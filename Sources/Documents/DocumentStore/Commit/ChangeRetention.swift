/// Removes the changes that are older than the retention from the log.
struct ChangeRetention {
    private let writer: DocumentWriter
    private let positions: CommittedPositions
    private var receipts: ReceiptTimes
    private var oldest: Int64?

    /// - Parameter retention: The time for which changes are kept.
    init(_ writer: DocumentWriter, _ positions: CommittedPositions, _ retention: Duration) throws {
        self.writer = writer
        self.positions = positions
        let microseconds = Int64(retention.components.seconds) * 1_000_000
        receipts = ReceiptTimes(sqlite: writer.tables.sqlite, retention: microseconds)
        oldest = try writer.oldestChange()
    }

    /// Records that a commit of the time `newest` was received at `wall`. Returns the time up to which changes are
    /// older than the retention.
    mutating func limit(after newest: Int64, receivedAt wall: Int64) throws -> Int64 {
        try receipts.note(newest, receivedAt: wall)
        return try receipts.limit(at: wall)
    }

    /// Whether there are changes up to `limit`.
    mutating func hasChanges(through limit: Int64) throws -> Bool {
        if oldest == nil { oldest = try writer.oldestChange() }
        return oldest.map { $0 <= limit } ?? false
    }

    /// Removes changes up to `limit` that the index contains, in proportion to the number of new commits, so that no
    /// commit waits long for it.
    mutating func prune(through limit: Int64, after commits: Int) throws {
        guard try hasChanges(through: limit) else { return }
        let limit = min(limit, try writer.tables.setting("indexed"))
        oldest = try writer.prune(through: limit, limit: commits * 4 + 16)
        try positions.prune(through: limit, limit: commits * 4 + 16)
        try receipts.prune(through: limit)
    }
}
