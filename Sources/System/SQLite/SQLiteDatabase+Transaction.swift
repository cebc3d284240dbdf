extension SQLiteDatabase {
    /// Runs `body` in a transaction: committed when it returns, rolled back when it throws.
    ///
    /// The write lock is acquired at the start, so that no later statement fails with `.busy`.
    /// Inside another transaction a savepoint is used instead.
    package func transaction<Result>(_ body: () throws -> Result) throws -> Result {
        guard !isInTransaction else { return try savepoint(body) }
        return try enclosed(begin: "BEGIN IMMEDIATE", end: "COMMIT", undo: "ROLLBACK", body)
    }

    /// Runs `body` in a transaction whose commit has a durability other than the connection's.
    /// Inside another transaction `synchronous` has no effect.
    package func transaction<Result>(
        _ synchronous: SQLiteConfiguration.Synchronous, _ body: () throws -> Result
    ) throws -> Result {
        guard !isInTransaction, synchronous != configuration.synchronous else { return try transaction(body) }
        try executeScript("PRAGMA synchronous=\(synchronous.rawValue)")
        defer { try? executeScript("PRAGMA synchronous=\(configuration.synchronous.rawValue)") }
        return try transaction(body)
    }

    /// Runs `body` on one unchanging snapshot of the database. Inside another transaction `body`
    /// sees that transaction's state.
    package func snapshot<Result>(_ body: () throws -> Result) throws -> Result {
        guard !isInTransaction else { return try body() }
        return try enclosed(begin: "BEGIN", end: "COMMIT", undo: "ROLLBACK", body)
    }

    /// Runs `body` in a savepoint. If it throws, its changes are undone, and the enclosing
    /// transaction continues.
    package func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
        try enclosed(begin: "SAVEPOINT s", end: "RELEASE s", undo: "ROLLBACK TO s", body)
    }

    private func enclosed<Result>(
        begin: String, end: String, undo: String, _ body: () throws -> Result
    ) throws -> Result {
        try execute(begin)
        do {
            let result = try body()
            try execute(end)
            return result
        } catch {
            // After a full disk and some I/O errors SQLite has already rolled back automatically.
            if isInTransaction {
                try execute(undo)
                if undo != "ROLLBACK" { try execute(end) }
            }
            throw error
        }
    }
}
