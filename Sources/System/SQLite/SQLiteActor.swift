/// A database on a thread of its own, reached by closures.
///
/// Each closure runs alone and to its end; the database is valid only inside it. Closing waits for the closures before
/// it.
package actor SQLiteActor {
    private let thread: SerialThread
    private let database: SQLiteDatabase

    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// Opens the file, and brings it up to date with `prepare`, on the calling thread.
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

    /// Runs `body` in a transaction that is rolled back when it throws.
    package func transaction<Result: Sendable>(_ body: @Sendable (SQLiteDatabase) throws -> Result) throws -> Result {
        try database.transaction { try body(database) }
    }

    package func close() { database.close() }
}
