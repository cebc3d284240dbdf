import CSQLite
import Glibc

extension SQLiteDatabase {
    /// Checks the whole file and returns one line for each problem found; an empty array if the
    /// file is sound.
    package func quickCheck(limit: Int = 100) throws -> [String] {
        var problems: [String] = []
        do {
            try query("PRAGMA quick_check(\(max(1, limit)))") { problems.append($0.text(0)) }
        } catch let error as SQLiteError where error.code == .corrupt {
            problems.append(error.message)
        }
        return problems == ["ok"] ? [] : problems
    }

    /// Writes a consistent copy to one file while other connections read and write.
    ///
    /// The copy appears under its name only when it is complete and on disk, and replaces an older
    /// file. Other connections are never blocked. If the task is cancelled, no file is left.
    ///
    /// - Parameter finishing: changes the copy before it appears.
    package func backUp(
        to destination: String, pagesAtOnce: Int32 = 4096, finishing: (SQLiteDatabase) throws -> Void = { _ in }
    ) throws {
        let partial = destination + ".partial"
        func removePartial() { for suffix in ["", "-wal", "-shm"] { unlink(partial + suffix) } }
        removePartial()
        defer { removePartial() }
        try copy(to: partial, pagesAtOnce: pagesAtOnce, finishing: finishing)
        guard rename(partial, destination) == 0 else {
            let reason = String(cString: strerror(errno))
            throw SQLiteError(code: .inputOutput, message: "Cannot rename \(partial) to \(destination): \(reason).")
        }
    }

    /// Writes a consistent copy of one moment to a new file, however busy other connections are. The copy may be lost
    /// in a power cut.
    package func copyForReading(to destination: String) throws {
        try copy(to: destination, pagesAtOnce: -1, synchronous: .off)
    }

    private func copy(
        to destination: String, pagesAtOnce: Int32, synchronous: SQLiteConfiguration.Synchronous = .full,
        finishing: (SQLiteDatabase) throws -> Void = { _ in }
    ) throws {
        var settings = SQLiteConfiguration()
        settings.synchronous = synchronous
        // Copying into a file in WAL mode requires the same page size.
        settings.pageSize = try first("PRAGMA page_size") { $0.int(0) } ?? configuration.pageSize
        let copy = try SQLiteDatabase(path: destination, configuration: settings)
        defer { copy.close() }
        try self.copy(into: copy, pagesAtOnce: pagesAtOnce)
        try finishing(copy)
        // The copy inherits WAL mode. Emptying the log leaves a single file that can be moved.
        try copy.checkpoint(truncating: true)
    }

    /// Replaces the content of another database, which must have the same page size, with the
    /// content of this one.
    ///
    /// Throws `.misuse` inside a transaction of this connection that has written.
    package func copy(into copy: SQLiteDatabase, pagesAtOnce: Int32 = 4096) throws {
        let (source, target) = (try open(), try copy.open())
        // Otherwise SQLite would report forever that the database is locked.
        guard sqlite3_txn_state(source, "main") != SQLITE_TXN_WRITE else {
            throw SQLiteError(
                code: .misuse,
                message: "\(path) cannot be copied by the connection that is writing it; use another one.")
        }
        guard let backup = sqlite3_backup_init(target, "main", source, "main") else {
            throw copy.error(sqlite3_errcode(target), doing: "write a backup to")
        }
        var code = SQLITE_OK
        while code == SQLITE_OK || code == SQLITE_BUSY || code == SQLITE_LOCKED {
            if Task.isCancelled {
                sqlite3_backup_finish(backup)
                throw CancellationError()
            }
            code = sqlite3_backup_step(backup, pagesAtOnce)
        }
        let finished = sqlite3_backup_finish(backup)
        guard code == SQLITE_DONE, finished == SQLITE_OK else {
            throw copy.error(code == SQLITE_DONE ? finished : code, doing: "write a backup to")
        }
    }

    /// Copies the WAL into the file as far as active readers allow. If `truncating`, waits for the
    /// readers and empties the log.
    package func checkpoint(truncating: Bool = false) throws(SQLiteError) {
        let mode = truncating ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE
        let code = sqlite3_wal_checkpoint_v2(try open(), nil, mode, nil, nil)
        guard code == SQLITE_OK || (code == SQLITE_BUSY && !truncating) else {
            throw error(code, doing: "checkpoint")
        }
    }

    /// Frees unused pages of the page cache.
    package func releaseMemory() {
        guard let connection = try? open() else { return }
        sqlite3_db_release_memory(connection)
    }
}
