import SQLite

/// The times at which commits were received according to the system's clock. Recorded only while
/// commit times are ahead of that clock, because it was wrong once. They determine which commits
/// are older than the retention, independent of their commit times.
struct ReceiptTimes {
    /// The lead of commit times up to which receipts are not recorded.
    static let tolerated: Int64 = 60_000_000
    /// The number of records for the duration of the retention.
    private static let notes: Int64 = 16

    let sqlite: SQLiteDatabase
    /// The time for which the log is kept, in microseconds.
    let retention: Int64
    private var last: Int64?

    init(sqlite: SQLiteDatabase, retention: Int64) {
        self.sqlite = sqlite
        self.retention = retention
    }

    /// Records that a commit of `time` was received at `wall`, if necessary.
    mutating func note(_ time: Int64, receivedAt wall: Int64) throws {
        guard time - wall > Self.tolerated else { return }
        if last == nil { last = try sqlite.first("SELECT max(wall) FROM received") { $0.optionalInt64(0) } ?? nil }
        // A clock that was set back is recorded too.
        if let last, wall >= last, wall - last < max(1, retention / Self.notes) { return }
        try sqlite.execute(
            "INSERT OR REPLACE INTO received(time, wall) VALUES(?,?)", [.integer(time), .integer(wall)])
        last = wall
    }

    /// Returns the time up to which commits are older than the retention.
    func limit(at wall: Int64) throws -> Int64 {
        let before = wall - retention
        guard last != nil else { return before }
        let noted = try sqlite.first("SELECT max(time) FROM received WHERE wall<=?", [.integer(before)]) {
            $0.optionalInt64(0)
        }
        return max(before, (noted ?? nil) ?? before)
    }

    /// Removes the records of commits that have been pruned.
    func prune(through time: Int64) throws {
        guard last != nil else { return }
        try sqlite.execute(
            "DELETE FROM received WHERE time<? AND time<(SELECT max(time) FROM received WHERE time<=?)",
            [.integer(time), .integer(time)])
    }
}
