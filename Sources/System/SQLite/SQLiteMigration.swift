/// One step in the history of a schema. Steps are numbered by their position in the list and never
/// change after a release.
package struct SQLiteMigration: Sendable {
    package let name: String
    package let apply: @Sendable (SQLiteDatabase) throws -> Void

    package init(_ name: String, apply: @escaping @Sendable (SQLiteDatabase) throws -> Void) {
        self.name = name
        self.apply = apply
    }

    /// Creates a step that runs SQL statements.
    package init(_ name: String, sql: String) {
        self.init(name) { try $0.executeScript(sql) }
    }
}

extension SQLiteDatabase {
    /// Upgrades the tables of one component, each step in its own transaction.
    ///
    /// Several components may share a file. Before a component with data is upgraded, a copy of the
    /// last committed state of the file is written to `<path>.before-<component>-<version>`. May be
    /// called inside a transaction. Throws `.newerSchema` and changes nothing if a newer program
    /// has already upgraded the component.
    package func migrate(_ component: String, _ migrations: [SQLiteMigration]) throws {
        let current = try schemaVersion(component)
        guard current <= migrations.count else {
            let code = SQLiteError.Code.newerSchema
            throw SQLiteError(
                code: code,
                message: "The database \(path) has version \(current) of \(component), but this program knows only "
                    + "\(migrations.count). \(code.remedy ?? "")")
        }
        guard current < migrations.count else { return }
        try executeScript(
            """
            CREATE TABLE IF NOT EXISTS schema_migration(
                component TEXT NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL, applied_at INTEGER NOT NULL,
                PRIMARY KEY(component, version)) WITHOUT ROWID
            """)
        if current > 0 {
            // A connection cannot copy a database in which it has uncommitted changes.
            let committed = try SQLiteDatabase(path: path, configuration: configuration.readOnly)
            defer { committed.close() }
            try committed.backUp(to: "\(path).before-\(component)-\(migrations.count)")
        }
        for (index, migration) in migrations.enumerated().dropFirst(current) {
            try transaction {
                try migration.apply(self)
                try execute(
                    "INSERT INTO schema_migration VALUES(?,?,?,unixepoch())",
                    [.text(component), .int(index + 1), .text(migration.name)])
            }
        }
    }

    /// Returns the number of steps of a component that have been applied to this file; 0 for a new
    /// file.
    package func schemaVersion(_ component: String) throws -> Int {
        let hasTable = try first("SELECT 1 FROM sqlite_schema WHERE name='schema_migration'") { _ in true } ?? false
        guard hasTable else { return 0 }
        let sql = "SELECT max(version) FROM schema_migration WHERE component=?"
        return try first(sql, [.text(component)]) { $0.int(0) } ?? 0
    }
}
