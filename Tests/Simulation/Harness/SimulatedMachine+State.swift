import DocumentClient
import DocumentStore
import SQLite
import SystemService
import TaskFolder
import TaskModel
import TaskSync

/// The initial state of a machine.
extension SimulatedMachine {
    nonisolated(unsafe) private static var copyCount = 0

    /// Returns a copy of a state file in memory.
    static func stateFile(named name: String, from other: SQLiteDatabase) throws -> SQLiteDatabase {
        copyCount += 1
        var configuration = SQLiteConfiguration()
        configuration.fileSystem = "memdb"
        let copy = try SQLiteDatabase(path: "/\(name)\(copyCount)", configuration: configuration)
        try other.copy(into: copy)
        return copy
    }

    /// An empty state file with its tables. Creating it takes as long as a dozen edits, so it is
    /// created once.
    nonisolated(unsafe) static let newState = Result {
        let path = "/new"
        var configuration = SQLiteConfiguration()
        configuration.fileSystem = "memdb"
        let state = try SQLiteDatabase(path: path, configuration: configuration)
        let scheduler = Scheduler(seed: 0)
        let environment = scheduler.environment { 0 }
        var options = ClientOptions()
        options.environment = environment
        options.fileSystem = "memdb"
        let remote = StoreRemote(MemoryDocumentStore(Simulation.database))
        let client = try DocumentDatabase(path: path, database: Simulation.database, remote: remote, options: options)
        let sync = TaskSync(
            configuration: TaskSync.Configuration(userID: UserID("alice"), remote: "simulated", wallClock: { 0 }),
            folder: MemoryTaskFolder(disk: MemoryDisk()), client: client, objects: nil, logger: .silent,
            environment: environment)
        try scheduler.run {
            try await sync.load()
            await client.close()
        }.get()
        var tables: [String] = []
        try state.query("SELECT name FROM sqlite_schema WHERE type='table' AND name<>'schema_migration'") {
            tables.append($0.text(0))
        }
        for table in tables { try state.execute("DELETE FROM \(table)") }
        // The version of a document that the replica knows must never go back.
        try state.executeScript(
            """
            CREATE TRIGGER simulated_time BEFORE UPDATE OF version ON client_document
            WHEN old.state<>0 AND new.state<>0 AND new.version<old.version
            BEGIN SELECT RAISE(ABORT, 'an older version replaced a newer one'); END
            """)
        return state
    }
}
