import SQLite

/// When commits were received, by the system's clock: kept only while commit times are ahead of it, because it was wrong once. What was
/// received before a time can then be forgotten, whatever the time is called.
struct ReceiptTimes {
    /// How far commit times may be ahead before their receipt is noted.
    static let tolerated: Int64 = 60_000_000
    /// How many notes there are for the time that the log reaches back.
    private static let notes: Int64 = 16

    let sqlite: SQLiteDatabase
    /// In microseconds.
    let retention: Int64
    private var last: Int64?

    init(sqlite: SQLiteDatabase, retention: Int64) {
        self.sqlite = sqlite
        self.retention = retention
    }

    /// Notes that a commit of `time` was received at `wall`, where that is to be noted.
    mutating func note(_ time: Int64, receivedAt wall: Int64) throws {
        guard time - wall > Self.tolerated else { return }
        if last == nil { last = try sqlite.first("SELECT max(wall) FROM received") { $0.optionalInt64(0) } ?? nil }
        // A clock that was set back is noted, too.
        if let last, wall >= last, wall - last < max(1, retention / Self.notes) { return }
        try sqlite.execute(
            "INSERT OR REPLACE INTO received(time, wall) VALUES(?,?)", [.integer(time), .integer(wall)])
        last = wall
    }

    /// The time up to which commits are older than the retention.
    func limit(at wall: Int64) throws -> Int64 {
        let before = wall - retention
        guard last != nil else { return before }
        let noted = try sqlite.first("SELECT max(time) FROM received WHERE wall<=?", [.integer(before)]) {
            $0.optionalInt64(0)
        }
        return max(before, (noted ?? nil) ?? before)
    }

    /// Forgets the notes about commits that are forgotten.
    func prune(through time: Int64) throws {
        guard last != nil else { return }
        try sqlite.execute(
            "DELETE FROM received WHERE time<? AND time<(SELECT max(time) FROM received WHERE time<=?)",
            [.integer(time), .integer(time)])
    }
}
