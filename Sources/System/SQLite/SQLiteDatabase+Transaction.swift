extension SQLiteDatabase {
    /// Runs `body` in a transaction that is all or nothing: committed when it returns, rolled back when it throws.
    ///
    /// The write lock is taken at the start, so nothing fails with `.busy` in the middle. Inside another transaction it
    /// is a savepoint of that one.
    package func transaction<Result>(_ body: () throws -> Result) throws -> Result {
        guard !isInTransaction else { return try savepoint(body) }
        return try enclosed(begin: "BEGIN IMMEDIATE", end: "COMMIT", undo: "ROLLBACK", body)
    }

    /// As `transaction`, with another answer to when its commit reaches the disk than the connection's; part of a transaction that is
    /// open already, it has no say in that.
    package func transaction<Result>(
        _ synchronous: SQLiteConfiguration.Synchronous, _ body: () throws -> Result
    ) throws -> Result {
        guard !isInTransaction, synchronous != configuration.synchronous else { return try transaction(body) }
        try executeScript("PRAGMA synchronous=\(synchronous.rawValue)")
        defer { try? executeScript("PRAGMA synchronous=\(configuration.synchronous.rawValue)") }
        return try transaction(body)
    }

    /// Runs `body` on one unchanging view of the database. Inside another transaction it is just `body`.
    package func snapshot<Result>(_ body: () throws -> Result) throws -> Result {
        guard !isInTransaction else { return try body() }
        return try enclosed(begin: "BEGIN", end: "COMMIT", undo: "ROLLBACK", body)
    }

    /// Runs `body` in a savepoint: what it changed is undone when it throws, and the enclosing transaction goes on.
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
            // A full disk and some I/O errors make SQLite roll back by itself; then there is nothing left to undo.
            if isInTransaction {
                try execute(undo)
                if undo != "ROLLBACK" { try execute(end) }
            }
            throw error
        }
    }
}
