import SQLite

/// The index on disk: two tables of the same form, the newer one overlaid on the older one.
///
/// Writing a batch of entries that is spread over a large table writes about one page per entry.
/// Therefore batches go into `recent`, which is kept small enough that every page receives several
/// entries. When it grows too large, rows are moved into `entry`, again many per page. For a row in
/// both tables `recent` is authoritative: an entry whose document is 0 is removed. The idea of
/// levels is that of the log-structured merge tree (O'Neil et al. 1996); here the levels are
/// SQLite's B-trees.
struct IndexTables {
    let sqlite: SQLiteDatabase

    /// Calls `body` with two statements that read a range of rows (row and document) in order: one
    /// of `recent`, one of `entry`.
    func read<Result>(
        lower: [UInt8], upper: [UInt8], descending: Bool, _ body: (SQLiteStatement, SQLiteStatement) throws -> Result
    ) throws -> Result {
        let order = descending ? "DESC" : "ASC"
        return try sqlite.withStatement(
            "SELECT row, document FROM recent WHERE row>=? AND row<? ORDER BY row \(order)"
        ) { recent in
            try recent.bind(1, lower)
            try recent.bind(2, upper)
            return try sqlite.withStatement(
                "SELECT row, document FROM entry WHERE row>=? AND row<? ORDER BY row \(order)"
            ) { settled in
                try settled.bind(1, lower)
                try settled.bind(2, upper)
                return try body(recent, settled)
            }
        }
    }

    /// Returns the approximate number of entries of a range, capped a little above `limit`.
    func estimate(lower: [UInt8], upper: [UInt8], limit: Int) throws -> Int {
        try sqlite.withStatement(
            """
            SELECT (SELECT count(*) FROM (SELECT 1 FROM recent WHERE row>=?1 AND row<?2 LIMIT ?3))
                + (SELECT count(*) FROM (SELECT 1 FROM entry WHERE row>=?1 AND row<?2 LIMIT ?3))
            """
        ) { statement in
            try statement.bind(1, lower)
            try statement.bind(2, upper)
            try statement.bind(3, limit + 1)
            return try statement.step() ? min(statement.int(0), limit + 1) : 0
        }
    }

    /// Stores a change in `recent`. Returns whether this added a row.
    func put(_ row: UnsafeRawBufferPointer, _ document: Int64) throws -> Bool {
        let isNew = try run("INSERT OR IGNORE INTO recent(row, document) VALUES(?1,?2)", row, document) > 0
        if !isNew { _ = try run("UPDATE recent SET document=?2 WHERE row=?1", row, document) }
        return isNew
    }

    /// Moves up to `limit` rows after `row` from `recent` into `entry`. Returns the number of rows
    /// and the last one.
    func move(after row: [UInt8], limit: Int) throws -> (count: Int, last: [UInt8]?) {
        var last: [UInt8]?
        try sqlite.withStatement("SELECT row, document FROM recent WHERE row>? ORDER BY row LIMIT ?") { moved in
            try moved.bind(1, row)
            try moved.bind(2, limit)
            while try moved.step() {
                let document = moved.int64(1)
                try moved.withBytes(0) { row in
                    if document == 0 {
                        _ = try run("DELETE FROM entry WHERE row=?1", row)
                    } else {
                        _ = try run("INSERT OR REPLACE INTO entry(row, document) VALUES(?1,?2)", row, document)
                    }
                }
                last = moved.bytes(0)
            }
        }
        guard let last else { return (0, nil) }
        try sqlite.execute("DELETE FROM recent WHERE row>? AND row<=?", [.blob(row), .blob(last)])
        return (Int(sqlite.changedRowCount), last)
    }

    private func run(_ sql: String, _ row: UnsafeRawBufferPointer, _ document: Int64? = nil) throws -> Int64 {
        try sqlite.withStatement(sql) { statement in
            try statement.bind(1, row)
            if let document { try statement.bind(2, document) }
            try statement.run()
            return sqlite.changedRowCount
        }
    }
}
