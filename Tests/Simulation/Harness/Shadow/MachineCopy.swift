import DocumentClient
import DocumentModel
import DocumentStore
import ObjectStorage
import Reconciliation
import SQLite
import SystemIO
import SystemService
import TaskFolder
import TaskModel
import TaskSync

/// A copy of a machine's disk and state file at one moment, without a network.
///
/// `TaskSync` starts on it as after a restart, and the planner plans from the same state.
///
/// `@unchecked Sendable`: the scheduler runs one job at a time.
final class MachineCopy: @unchecked Sendable {
    private let disk: MemoryDisk
    private let statePath: String
    /// A connection that keeps the in-memory state file.
    private let stateFile: SQLiteDatabase
    private let objects: MemoryObjectStore
    private let scheduler: Scheduler
    private let bootID: String

    nonisolated(unsafe) private static var count = 0

    init(
        disk: MemoryDisk, state: SQLiteDatabase, objects: MemoryObjectStore, bootID: String, _ scheduler: Scheduler
    ) throws {
        self.disk = disk
        self.objects = objects
        self.scheduler = scheduler
        self.bootID = bootID
        MachineCopy.count += 1
        statePath = "/copy\(MachineCopy.count)"
        var configuration = SQLiteConfiguration()
        configuration.fileSystem = "memdb"
        stateFile = try SQLiteDatabase(path: statePath, configuration: configuration)
        try state.copy(into: stateFile)
    }

    /// One state, and the one that `TaskSync` made of it.
    struct Comparison {
        let before: TreeReader.Reading
        let after: TreeReader.Reading
    }

    /// Lets `TaskSync` act until it has settled. Returns `nil` for a state that nothing can be
    /// compared in: before the first sync, or in the middle of an effect.
    func play() throws -> Comparison? {
        let scheduler = scheduler
        let environment = scheduler.environment {
            1_790_000_000_000 + scheduler.now.components.seconds * 1000
        }
        let server = SimulatedServer()
        let client = try client(server, environment)
        defer { client.assumeIsolated { $0.close() } }
        let folder = MemoryTaskFolder(disk: disk)
        let reader = TreeReader(folder, userID: UserID("alice"))
        let machineTime = environment.wallClock() / 1000
        let read = { try scheduler.run { try await reader.read(client, machineTime: machineTime) }.get() }
        let before = try read()
        guard before.trees.remote.isComplete, !before.isInterrupted, !before.conditions.isRootHeld else { return nil }
        var configuration = TaskSync.Configuration(
            userID: UserID("alice"), remote: "simulated", wallClock: { environment.wallClock() / 1000 })
        configuration.bootID = bootID
        let sync = TaskSync(
            configuration: configuration, folder: folder, client: client,
            objects: SimulatedObjects(objects, server, scheduler), logger: .silent, environment: environment)
        try settle(sync, client)
        return Comparison(before: before, after: try read())
    }

    /// Opens the documents, without a connection.
    private func client(_ server: SimulatedServer, _ environment: Environment) throws -> DocumentDatabase {
        var options = ClientOptions()
        options.policies = .tasks
        options.environment = environment
        options.fileSystem = "memdb"
        let store = MemoryDocumentStore(Simulation.database)
        let remote = SimulatedRemote(StoreRemote(store), server, scheduler)
        remote.set(.cut)
        return try DocumentDatabase(path: statePath, database: Simulation.database, remote: remote, options: options)
    }

    /// Runs `TaskSync` until nothing is left to do.
    private func settle(_ sync: TaskSync, _ client: DocumentDatabase) throws {
        let work = Task {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await client.run() }
                group.addTask { try await sync.run() }
                try await group.next()
                group.cancelAll()
            }
        }
        defer {
            work.cancel()
            scheduler.run(until: scheduler.now + .seconds(1))
        }
        for _ in 0..<12 {
            scheduler.run(until: scheduler.now + .seconds(5))
            if try scheduler.run({ try await sync.isSettled() }).get() { break }
        }
        // What TaskSync puts off until some later turn.
        try scheduler.run { try await sync.rescanNow() }.get()
        scheduler.run(until: scheduler.now + .seconds(6))
        try scheduler.run { try await sync.rescanNow() }.get()
    }
}
