import CSQLite

/// A connection to one database file, in WAL mode if the file system supports it.
///
/// Not thread safe: each connection has one owner, an actor or a thread. Several connections may
/// share a file; readers never wait for the writer. Statements created by `prepare` keep the
/// connection open until they are released.
package final class SQLiteDatabase {
    package let path: String
    /// The path of the WAL, which exists while a writing connection is open. Syncing it makes
    /// commits with `.normal` durable.
    package var logPath: String { path + "-wal" }
    package let configuration: SQLiteConfiguration
    private var handle: OpaquePointer?
    /// The cached statements of one SQL text that are not in use.
    private final class IdleStatements {
        var list: [SQLiteStatement] = []
    }
    private var idleStatements: [String: IdleStatements] = [:]
    private var idleCount = 0

    /// Opens the file, and creates it unless the connection is read-only.
    ///
    /// Throws `.corrupt` if damage is found while opening, `.cannotOpen` or `.readOnly`.
    package init(path: String, configuration: SQLiteConfiguration = SQLiteConfiguration()) throws(SQLiteError) {
        _ = SQLiteDatabase.libraryIsConfigured
        self.path = path
        self.configuration = configuration
        let access = configuration.isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        let flags = access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_PRIVATECACHE
        let code = sqlite3_open_v2(path, &handle, flags, configuration.fileSystem)
        guard code == SQLITE_OK else {
            let error = SQLiteError(resultCode: code, connection: handle, path: path, doing: "open")
            sqlite3_close_v2(handle)
            handle = nil
            throw error
        }
        try configure()
    }

    deinit {
        idleStatements = [:]
        sqlite3_close_v2(handle)
    }

    /// Closes the connection. Every later call throws `.misuse`; a second close does nothing.
    package func close() {
        idleStatements = [:]
        idleCount = 0
        sqlite3_close_v2(handle)
        handle = nil
    }

    private static let libraryIsConfigured = csqlite_disable_memory_statistics() == SQLITE_OK

    private func configure() throws(SQLiteError) {
        let connection = try open()
        sqlite3_busy_timeout(connection, configuration.busyTimeoutMilliseconds)
        csqlite_set_option(connection, SQLITE_DBCONFIG_DEFENSIVE, 1)
        csqlite_set_option(connection, SQLITE_DBCONFIG_DQS_DML, 0)
        csqlite_set_option(connection, SQLITE_DBCONFIG_DQS_DDL, 0)
        csqlite_add_row_sum(connection)
        if !configuration.isReadOnly {
            try executeScript("PRAGMA page_size=\(configuration.pageSize)")
            try executeScript("PRAGMA journal_mode=WAL")
            try executeScript("PRAGMA wal_autocheckpoint=\(configuration.automaticCheckpointPages)")
        }
        try executeScript(
            """
            PRAGMA synchronous=\(configuration.synchronous.rawValue);
            PRAGMA cache_size=\(-configuration.cacheKiB);
            PRAGMA mmap_size=\(configuration.memoryMapBytes);
            PRAGMA foreign_keys=\(configuration.enforcesForeignKeys ? "ON" : "OFF");
            PRAGMA temp_store=MEMORY;
            PRAGMA trusted_schema=OFF;
            """)
        // Reads the first page, so that a file that is not a database is reported now and not at
        // its first use.
        try executeScript("SELECT count(*) FROM sqlite_schema")
    }

    // MARK: Statements

    /// Compiles one statement, which the caller owns.
    package func prepare(_ sql: String) throws(SQLiteError) -> SQLiteStatement {
        let connection = try open()
        var statement: OpaquePointer?
        var sqlText = sql
        let code = sqlText.withUTF8 { buffer in
            buffer.withMemoryRebound(to: CChar.self) { text in
                sqlite3_prepare_v3(
                    connection, text.baseAddress, Int32(clamping: text.count), UInt32(SQLITE_PREPARE_PERSISTENT),
                    &statement, nil)
            }
        }
        guard code == SQLITE_OK else { throw error(code, doing: "use", sql: sql) }
        guard let statement else {
            throw SQLiteError(code: .misuse, message: "An empty statement cannot be prepared.", sql: sql)
        }
        return SQLiteStatement(database: self, handle: statement, sql: sql)
    }

    /// Calls `body` with a cached statement, which is cleared before and after. Calls with the same
    /// text may nest.
    package func withStatement<Result>(_ sql: String, _ body: (SQLiteStatement) throws -> Result) throws -> Result {
        // Looked up once, because hashing these long texts is slow.
        let found = idleStatements[sql]
        let statement: SQLiteStatement
        if let idle = found?.list.popLast() {
            statement = idle
            idleCount -= 1
        } else {
            statement = try prepare(sql)
        }
        defer {
            statement.clear()
            if handle != nil, idleCount < 256 {
                (found ?? listOfIdleStatements(sql)).list.append(statement)
                idleCount += 1
            }
        }
        return try body(statement)
    }

    private func listOfIdleStatements(_ sql: String) -> IdleStatements {
        if let known = idleStatements[sql] { return known }
        let new = IdleStatements()
        idleStatements[sql] = new
        return new
    }

    /// Runs one statement with bound values and discards any rows.
    package func execute(_ sql: String, _ values: [SQLiteValue] = []) throws {
        try withStatement(sql) { statement in
            try statement.bind(values)
            try statement.run()
        }
    }

    /// Runs a query and calls `body` for each row.
    package func query(_ sql: String, _ values: [SQLiteValue] = [], _ body: (SQLiteStatement) throws -> Void) throws {
        try withStatement(sql) { statement in
            try statement.bind(values)
            while try statement.step() { try body(statement) }
        }
    }

    /// Returns the result of `body` for the first row; nil if there is no row.
    package func first<Result>(
        _ sql: String, _ values: [SQLiteValue] = [], _ body: (SQLiteStatement) throws -> Result
    ) throws -> Result? {
        try withStatement(sql) { statement in
            try statement.bind(values)
            return try statement.step() ? try body(statement) : nil
        }
    }

    /// Runs several statements without parameters, for schemas and pragmas.
    package func executeScript(_ sql: String) throws(SQLiteError) {
        let code = sqlite3_exec(try open(), sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw error(code, doing: "use", sql: sql) }
    }

    /// The rowid of the latest insert on this connection.
    package var lastInsertedRowID: Int64 { handle.map { sqlite3_last_insert_rowid($0) } ?? 0 }

    /// The number of rows that the latest statement changed.
    package var changedRowCount: Int64 { handle.map { sqlite3_changes64($0) } ?? 0 }

    /// Whether a transaction is open on this connection.
    package var isInTransaction: Bool { handle.map { sqlite3_get_autocommit($0) == 0 } ?? false }

    // MARK: Shared with the extensions

    func open() throws(SQLiteError) -> OpaquePointer {
        guard let handle else {
            throw SQLiteError(code: .misuse, message: "The database \(path) is closed.")
        }
        return handle
    }

    func error(_ code: Int32, doing action: String, sql: String? = nil) -> SQLiteError {
        SQLiteError(resultCode: code, connection: handle, path: path, doing: action, sql: sql)
    }
}
