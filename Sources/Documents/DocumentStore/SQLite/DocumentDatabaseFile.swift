package import DocumentModel
package import FirestoreProtocol
import SQLite

/// A database's file as administration commands use it: not open as a store in this process, though a
/// server may run on it.
package struct DocumentDatabaseFile {
    package let name: DatabaseName
    package let path: String

    package init(_ name: DatabaseName, path: String) {
        self.name = name
        self.path = path
    }

    /// Returns what contradicts itself, one line each; see `SQLiteDocumentStore.check()`. Nothing is changed.
    ///
    /// - Parameter isFileSound: Whether SQLite's own check has already passed.
    package func check(isFileSound: Bool = false) throws -> [String] {
        try withSnapshot { tables, visible in
            try ConsistencyCheck(tables: tables).problems(visible: visible, isFileSound: isFileSound)
        }
    }

    /// Calls `body` with every document of one moment, collection by collection, in the order of ids.
    ///
    /// - Returns: the paths of documents that are damaged and left out.
    package func forEachDocument(_ body: (EncodedDocument) throws -> Void) throws -> [String] {
        try withSnapshot { tables, _ in
            var damaged: [String] = []
            try tables.sqlite.query(
                """
                SELECT d.sum, d.collection, d.id, d.create_time, d.update_time, d.fields
                FROM collection c CROSS JOIN document d USING(collection) ORDER BY c.path, d.id
                """
            ) { row in
                guard row.isIntact(1..<6, sum: 0) else {
                    damaged.append(tables.label(collection: row.int64(1), id: row.bytes(2)))
                    return
                }
                try body(
                    EncodedDocument(
                        name: try tables.name(collection: row.int64(1), id: row.bytes(2)), createTime: row.int64(3),
                        updateTime: row.int64(4), fields: row.bytes(5)))
            }
            return damaged
        }
    }

    private func withSnapshot<Result>(
        _ body: (DocumentTables, _ visible: Int64) throws -> Result
    ) throws -> Result {
        try withDatabase { sqlite in
            let tables = DocumentTables(sqlite, name: name)
            return try sqlite.snapshot {
                let (visible, indexed) = try tables.progress()
                let pending = PendingIndex(indexed: indexed, recovered: try IndexRecovery.pending(in: tables))
                tables.pending = pending.view(indexed: indexed, visible: visible) ?? PendingIndex.View()
                return try body(tables, visible)
            }
        }
    }

    /// Moves commit times that are ahead of `now` back to before it, in their order. No store may have
    /// the file open.
    ///
    /// Clients see a server that was restored: they hold their changes until their users continue with
    /// it, and then unite both.
    ///
    /// - Parameter now: Microseconds since 1970.
    /// - Returns: How many times were changed.
    package func repairClock(now: Int64) throws -> Int {
        try withDatabase { sqlite in try sqlite.transaction { try moveBack(sqlite, now: now) } }
    }

    /// Makes a copy continue the history of a store that had further commits, all before `time`, in microseconds since
    /// 1970. Later commits are later than that, and listeners that resume from between start over. No store may have
    /// the file open.
    package func takeOver(at time: Int64) throws {
        try withDatabase { sqlite in
            try sqlite.transaction {
                let tables = DocumentTables(sqlite, name: name)
                if try tables.setting("clock") < time { try tables.setSetting("clock", time) }
                // An earlier gap stays in this one, with the commits between.
                try sqlite.execute(
                    "INSERT OR IGNORE INTO setting SELECT 'gap', value FROM setting WHERE name='commit'")
                try sqlite.execute(
                    "INSERT OR REPLACE INTO setting SELECT 'gap end', value FROM setting WHERE name='clock'")
            }
        }
    }

    private func moveBack(_ sqlite: SQLiteDatabase, now: Int64) throws -> Int {
        let tables = DocumentTables(sqlite, name: name)
        let columns = [
            ("document", "create_time"), ("document", "update_time"), ("change", "time"), ("change", "create_time"),
            ("change", "update_time"), ("stream", "time"),
        ]
        let union = columns.map { "SELECT \($0.1) AS t FROM \($0.0) WHERE \($0.1)>?1" }.joined(separator: " UNION ")
        var times: [Int64] = []
        try sqlite.query("SELECT t FROM (\(union)) ORDER BY t", [.integer(now)]) { times.append($0.int64(0)) }
        guard try !times.isEmpty || tables.setting("commit") > now else { return 0 }
        // Before now, so that the next commits come after them.
        let newest = try sqlite.first("SELECT max(time) FROM change WHERE time<=?", [.integer(now)]) {
            $0.optionalInt64(0)
        }
        let start = max(now - Int64(times.count), ((newest ?? nil) ?? 0) + 1)
        try sqlite.executeScript("CREATE TEMP TABLE moved(old INTEGER PRIMARY KEY, new INTEGER NOT NULL)")
        for (number, time) in times.enumerated() {
            try sqlite.execute(
                "INSERT INTO moved VALUES(?,?)", [.integer(time), .integer(start + Int64(number))])
        }
        // A damaged row stays one: its checksum must not come to fit.
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

    /// Writes a consistent copy to a new file. Blocks. See `SQLiteDocumentStore.backUp(to:)`.
    package func backUp(to destination: String) throws {
        do {
            let source = try SQLiteDatabase(path: path, configuration: SQLiteConfiguration().readOnly)
            defer { source.close() }
            try source.backUp(to: destination) { copy in
                try copy.execute("UPDATE setting SET value=randomblob(8) WHERE name='epoch'")
            }
        } catch {
            throw DocumentStoreError(error)
        }
    }

    /// Calls `body` with the file open.
    ///
    /// - Throws: `.failedPrecondition` for the schema of another version.
    private func withDatabase<Result>(_ body: (SQLiteDatabase) throws -> Result) throws -> Result {
        do {
            let sqlite = try SQLiteDatabase(path: path)
            defer { sqlite.close() }
            guard try sqlite.schemaVersion(DocumentSchema.component) == DocumentSchema.migrations.count else {
                throw DocumentStoreError(
                    .failedPrecondition, "\(path) is of another version of this program. Run the server once on it.")
            }
            return try body(sqlite)
        } catch {
            throw DocumentStoreError(error)
        }
    }
}
