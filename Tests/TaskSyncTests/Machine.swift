import DocumentClient
import DocumentModel
import DocumentStore
import FirestoreProtocol
import Glibc
import ObjectStorage
import Simulation
import Synchronization
import SystemIO
import SystemService
import SystemTestKit
import TaskFolder
import TaskModel
import Testing

@testable import TaskSync

/// One machine: a real directory, a real replica, a bridge between them, and a remote shared with others.
final class Machine: Sendable {
    let home: TemporaryDirectory
    var root: String { home.path }
    let sync: TaskSync
    let client: DocumentDatabase
    let remote: StoreRemote
    private let counted: CountedRemote
    /// Commits that this machine has sent.
    var commitCount: Int { counted.commits.withLock { $0 } }
    private let work: Task<Void, any Error>

    static let database = DatabaseName(project: "ferry")

    /// Comes back when the machine has its state, as the daemon takes no command before.
    ///
    /// - Parameters:
    ///   - home: the home of another machine, to go on with its tasks and state; nil makes one.
    ///   - disk: has the tasks directory; nil: a real one.
    ///   - wallClock: seconds since 1970.
    ///   - refusing: the writes that the remote refuses.
    ///   - isOffline: whether the remote cannot be reached until `remote.cut(false)`.
    init(
        _ store: any DocumentStore, objects: (any ObjectStore)? = nil, home: TemporaryDirectory? = nil,
        disk: MemoryDisk? = nil, rebinds: Bool = false, repairs: Bool = false, bootID: String? = nil,
        trashDays: Int = 30,
        wallClock: @escaping @Sendable () -> Int64 = { 0 },
        followedLists: Int = 400, vocabulary: TaskVocabulary = .standard,
        refusing: @escaping @Sendable (Write) -> Bool = { _ in false }, isOffline: Bool = false
    ) async throws {
        self.home = try home ?? TemporaryDirectory()
        let root = self.home.path
        mkdir("\(root)/Tasks", 0o700)
        remote = StoreRemote(store, for: "alice")
        if isOffline { remote.cut(true) }
        counted = CountedRemote(remote, refusing: refusing)
        var options = ClientOptions()
        options.policies = .tasks
        options.repairs = repairs
        client = try DocumentDatabase(
            path: "\(root)/replica.db", database: Self.database, remote: counted, options: options)
        var configuration = TaskSync.Configuration(
            userID: UserID("alice"), remote: "test", rebinds: rebinds, trashDays: trashDays, wallClock: wallClock)
        configuration.followedLists = followedLists
        configuration.repairs = repairs
        configuration.reading.vocabulary = vocabulary
        configuration.bootID = bootID
        sync = TaskSync(
            configuration: configuration,
            folder: disk.map { MemoryTaskFolder(disk: $0) } ?? DirectoryTaskFolder(path: "\(root)/Tasks"),
            client: client, objects: objects,
            logger: Logger(label: "test", level: .error))
        let (sync, client) = (sync, client)
        try await sync.load()
        work = Task {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await client.run() }
                group.addTask { try await sync.run() }
                try await group.next()
                group.cancelAll()
            }
        }
    }

    /// Ends everything, as a graceful stop does, and keeps the directory.
    func stop() async {
        work.cancel()
        _ = try? await work.value
        await client.close()
    }

    /// What ended it, by itself.
    func end() async -> (any Error)? {
        do {
            try await work.value
            return nil
        } catch {
            return error
        }
    }

    // MARK: Files

    func path(_ name: String) -> String { "\(root)/Tasks/\(name)" }

    /// A new file comes whole: a scan at that moment would read the first version of one that is still empty.
    func write(_ name: String, _ text: String) throws {
        let parts = name.split(separator: "/").dropLast()
        for end in parts.indices.map({ $0 + 1 }) { mkdir(path(parts[..<end].joined(separator: "/")), 0o700) }
        let isNew = access(path(name), F_OK) != 0
        let place = isNew ? "\(root)/new-file" : path(name)
        guard let file = fopen(place, "w") else { throw TaskSyncError(.invalid, "cannot write \(name)") }
        fputs(text, file)
        fclose(file)
        if isNew { Glibc.rename(place, path(name)) }
    }

    func read(_ name: String) -> String? {
        guard let file = fopen(path(name), "r") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while case let byte = getc(file), byte != EOF { bytes.append(UInt8(byte)) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// What is in a directory.
    func names(_ directory: String) throws -> [String] {
        try Directory(path: path(directory)).entries().map(\.name).sorted()
    }

    func remove(_ name: String) { unlink(path(name)) }

    func rename(_ name: String, to target: String) { Glibc.rename(path(name), path(target)) }

    /// Waits until `condition` holds; false after a minute. Looks after every turn of the bridge and whenever the client's status
    /// changes: nothing else writes files or documents.
    func eventually(_ condition: @Sendable () async throws -> Bool) async rethrows -> Bool {
        let (events, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let observer = await sync.observe { bell.yield() }
        let watcher = Task { [client] in
            for await _ in await client.statuses { bell.yield() }
        }
        let alarm = Task {
            try await Task.sleep(for: .seconds(60))
            bell.finish()
        }
        var holds = try await condition()
        var iterator = events.makeAsyncIterator()
        while !holds, await iterator.next() != nil { holds = try await condition() }
        watcher.cancel()
        alarm.cancel()
        await sync.stopObserving(observer)
        return holds
    }

    /// Whether it knows that many tasks, and the file of each.
    func hasUnited(_ count: Int) async -> Bool {
        let tasks = await sync.catalog.living.map(\.id)
        var known = 0
        for task in tasks where await sync.path(ofTask: task) != nil { known += 1 }
        return tasks.count == count && known == count
    }

    /// Whether a merge has kept this value.
    func hasDisplaced(_ value: String) async -> Bool {
        await eventually { [client] in
            let found = try? await client.reading { transaction in
                try transaction.documents(TaskSync.localQueries(in: transaction.databaseName).history)
                    .contains { $0["value"] == .string(value) }
            }
            return found == true
        }
    }

    func has(_ name: String, _ text: String) async -> Bool {
        await eventually { self.read(name) == text }
    }

    func lacks(_ name: String) async -> Bool {
        await eventually { self.read(name) == nil }
    }
}

extension TaskSync {
    /// Adds one task and returns its id.
    func add(_ edit: TaskEdit) async throws -> TaskID { try #require(try await add([edit]).first).get() }
}

/// Counts what goes to another remote, and refuses some of it.
private final class CountedRemote: RemoteDocuments {
    let commits = Mutex(0)
    private let remote: StoreRemote
    private let refusing: @Sendable (Write) -> Bool

    init(_ remote: StoreRemote, refusing: @escaping @Sendable (Write) -> Bool) {
        self.remote = remote
        self.refusing = refusing
    }

    func commit(_ writes: [Write]) async throws -> CommitResult {
        if let refused = writes.first(where: { refusing($0) }) {
            throw RemoteError(.permission, "no \(refused.name.collectionPath) here")
        }
        commits.withLock { $0 += 1 }
        return try await remote.commit(writes)
    }

    func documents(_ names: [DocumentName]) async throws -> RemoteRead { try await remote.documents(names) }

    func results(of query: Query) async throws -> RemoteRead { try await remote.results(of: query) }

    func listen(_ targets: [RemoteTarget], seen: Timestamp?) async throws -> any RemoteListen {
        try await remote.listen(targets, seen: seen)
    }

    func networkChanged() { remote.networkChanged() }
}

/// Two machines of one user, stopped in the end.
func withMachines(
    objects: (any ObjectStore)? = nil, _ body: (Machine, Machine) async throws -> Void
) async throws {
    let store = MemoryDocumentStore(Machine.database)
    let laptop = try await Machine(store, objects: objects)
    let desk = try await Machine(store, objects: objects)
    do { try await body(laptop, desk) } catch { Issue.record(error) }
    await laptop.stop()
    await desk.stop()
}

extension MemoryDisk {
    /// A user does something just before Ferry's first such call.
    func meanwhile(
        _ operation: String, _ path: String, _ action: @escaping @Sendable (MemoryDisk) throws -> Void
    ) {
        let isLeft = Mutex(true)
        setFault { [unowned self] called, on in
            guard called == operation, on == path else { return nil }
            let isFirst = isLeft.withLock { left in
                defer { left = false }
                return left
            }
            if isFirst { try? action(self) }
            return nil
        }
    }
}
