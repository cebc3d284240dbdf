import SystemIO

/// A database on a thread of its own, accessed with closures.
///
/// Closures run one at a time and to completion. The database is valid only inside a closure.
/// Closing waits for the closures that were submitted before.
package actor SQLiteActor {
    private let thread: SerialThread
    private let database: SQLiteDatabase

    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// Opens the file on the calling thread, and calls `prepare`, which typically migrates the
    /// schema.
    package init(
        path: String, configuration: SQLiteConfiguration = SQLiteConfiguration(),
        prepare: (SQLiteDatabase) throws -> Void = { _ in }
    ) throws {
        let database = try SQLiteDatabase(path: path, configuration: configuration)
        try prepare(database)
        self.database = database
        thread = SerialThread()
    }

    deinit { thread.stop() }

    package func run<Result: Sendable>(_ body: @Sendable (SQLiteDatabase) throws -> Result) throws -> Result {
        try body(database)
    }

    /// Runs `body` in a transaction, which is rolled back if it throws.
    package func transaction<Result: Sendable>(_ body: @Sendable (SQLiteDatabase) throws -> Result) throws -> Result {
        try database.transaction { try body(database) }
    }

    package func close() { database.close() }
}
