package import DocumentModel
import SQLite

extension SQLiteDocumentStore {
    /// Moves the times of a database whose clock was ahead once to before `now`, preserving their
    /// order. No store may have the file open.
    ///
    /// To clients this looks like a restored server: they hold their changes until their users
    /// confirm it, and then merge. Returns the number of times changed; 0 if none is ahead.
    ///
    /// - Parameter now: the time in microseconds since 1970.
    package static func repairClock(_ database: DatabaseName, path: String, now: Int64) throws -> Int {
        do {
            let sqlite = try SQLiteDatabase(path: path)
            defer { sqlite.close() }
            guard try sqlite.schemaVersion(DocumentSchema.component) == DocumentSchema.migrations.count else {
                throw DocumentStoreError(
                    .failedPrecondition, "\(path) is of another version of this program. Run the server once on it.")
            }
            return try sqlite.transaction { try moveBack(sqlite, database, now: now) }
        } catch {
            throw DocumentStoreError(error)
        }
    }

    private static func moveBack(_ sqlite: SQLiteDatabase, _ database: DatabaseName, now: Int64) throws -> Int {
        let tables = DocumentTables(sqlite, name: database)
        let columns = [
            ("document", "create_time"), ("document", "update_time"), ("change", "time"), ("change", "create_time"),
            ("change", "update_time"), ("stream", "time"),
        ]
        let union = columns.map { "SELECT \($0.1) AS t FROM \($0.0) WHERE \($0.1)>?1" }.joined(separator: " UNION ")
        var times: [Int64] = []
        try sqlite.query("SELECT t FROM (\(union)) ORDER BY t", [.integer(now)]) { times.append($0.int64(0)) }
        guard try !times.isEmpty || tables.setting("commit") > now else { return 0 }
        // The new times are before `now`, so that the next commits are later.
        let newest = try sqlite.first("SELECT max(time) FROM change WHERE time<=?", [.integer(now)]) {
            $0.optionalInt64(0)
        }
        let start = max(now - Int64(times.count), ((newest ?? nil) ?? 0) + 1)
        try sqlite.executeScript("CREATE TEMP TABLE moved(old INTEGER PRIMARY KEY, new INTEGER NOT NULL)")
        for (number, time) in times.enumerated() {
            try sqlite.execute(
                "INSERT INTO moved VALUES(?,?)", [.integer(time), .integer(start + Int64(number))])
        }
        // A damaged row must stay damaged: its checksum must not be updated to match.
        let intact = ["document": "sum=row_sum(\(RowSum.document))", "change": "sum=row_sum(\(RowSum.change))"]
        for (table, sum) in intact {
            try sqlite.executeScript(
                "CREATE TEMP TABLE damaged_\(table) AS SELECT rowid AS r FROM \(table) WHERE NOT (\(sum))")
            try sqlite.executeScript(
                "INSERT INTO damaged_\(table) SELECT rowid FROM \(table) WHERE sum IS NULL")
        }
        for (table, column) in columns {
            try sqlite.execute(
                """
                UPDATE \(table) SET \(column)=(SELECT new FROM moved WHERE old=\(column))
                WHERE \(column) IN (SELECT old FROM moved)
                """)
        }
        for (table, sum) in intact {
            try sqlite.executeScript(
                "UPDATE \(table) SET \(sum) WHERE rowid NOT IN (SELECT r FROM damaged_\(table)); DROP TABLE damaged_\(table)"
            )
        }
        try sqlite.executeScript("DROP TABLE moved; DELETE FROM received")
        let last = times.isEmpty ? now : start + Int64(times.count) - 1
        for name in ["commit", "clock", "indexed", "horizon"] where try tables.setting(name) > now {
            try tables.setSetting(name, name == "horizon" ? max(0, start - 1) : last)
        }
        try sqlite.execute("UPDATE setting SET value=randomblob(8) WHERE name='epoch'")
        return times.count
    }
}
