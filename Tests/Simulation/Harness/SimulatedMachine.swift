import DocumentClient
import DocumentModel
import Glibc
import SystemIO
import SystemService
import TaskFolder
import TaskSync

/// One machine of the user: a disk, a state file, and a process that comes and goes, made of the real bridge and the real client.
///
/// `@unchecked Sendable`: the scheduler runs one job at a time.
final class SimulatedMachine: @unchecked Sendable {
    /// The process: what is lost when it dies.
    private final class Process: @unchecked Sendable {
        let client: DocumentClient
        let sync: TaskSync
        let remote: SimulatedRemote
        var work: Task<Void, Never>?

        init(client: DocumentClient, sync: TaskSync, remote: SimulatedRemote) {
            self.client = client
            self.sync = sync
            self.remote = remote
        }
    }

    let name: String
    let disk = MemoryDisk()
    private let scheduler: Scheduler
    private let store: StoreRemote
    let statePath: String
    private var process: Process?
    /// The one that was killed and whose tasks have not ended yet.
    private var dying: Process?
    /// Added to the local clock, in milliseconds.
    var clockSkew: Int64 = 0
    var link = SimulatedRemote.Link.good { didSet { process?.remote.set(link) } }
    var lossRate = 0 { didSet { process?.remote.lossRate = lossRate } }
    /// How many more calls of the disk the process lives through; nil: it is not about to die.
    var callsToLive: Int?
    /// Called before calls of the disk, now and then: somebody else uses the tree at this very moment.
    var interfere: () -> Void = {}
    private var isInterfering = false
    /// Files that an editor is in the middle of saving.
    var busy: Set<String> = []
    private var renames: [String: Duration] = [:]
    private var started = Duration.zero
    /// What should never be seen: the process ended by itself.
    private(set) var failures: [String] = []
    var logger = Logger.silent
    /// Told every call of the disk by the process.
    var trace: (_ operation: String, _ path: String) -> Void = { _, _ in }
    /// Tells the story where the process dies by itself.
    var onDeath: () -> Void = {}

    init(name: String, store: StoreRemote, scheduler: Scheduler, statePath: String) {
        self.name = name
        self.store = store
        self.scheduler = scheduler
        self.statePath = statePath
        disk.setFault { [unowned self] operation, path in self.fault(operation, path) }
    }

    var isRunning: Bool { process != nil }

    // MARK: Life and death

    func start() {
        guard process == nil else { return }
        guard dying == nil else { return scheduler.after(.milliseconds(10)) { self.start() } }
        started = scheduler.now
        let surroundings = scheduler.surroundings { [scheduler, unowned self] in
            let (seconds, attoseconds) = scheduler.now.components
            return 1_790_000_000_000 + seconds * 1000 + attoseconds / 1_000_000_000_000_000 + self.clockSkew
        }
        let remote = SimulatedRemote(store, scheduler)
        remote.set(link)
        remote.lossRate = lossRate
        var options = ClientOptions()
        options.policies = .tasks
        options.surroundings = surroundings
        do {
            let client = try DocumentClient(
                path: statePath, database: Simulation.database, remote: remote, options: options)
            let sync = TaskSync(
                configuration: TaskSync.Configuration(
                    userID: "alice", directory: "/\(name)", remote: "simulated",
                    wallClock: { surroundings.wallClock() / 1000 }),
                folder: MemoryTaskFolder(disk: disk), client: client, objects: nil, logger: logger,
                surroundings: surroundings)
            let process = Process(client: client, sync: sync, remote: remote)
            self.process = process
            process.work = Task { [weak self, weak process] in
                do {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask { try await client.run() }
                        group.addTask { try await sync.run() }
                        try await group.next()
                        group.cancelAll()
                    }
                    self?.ended(process, nil)
                } catch {
                    self?.ended(process, error)
                }
            }
        } catch {
            failures.append("\(name) cannot start: \(error)")
        }
    }

    private func ended(_ process: Process?, _ error: (any Error)?) {
        if let process, dying === process { dying = nil }
        guard let process, self.process === process else { return }
        failures.append("\(name) ended by itself: \(error.map { "\($0)" } ?? "without a reason")")
        self.process = nil
    }

    /// As kill -9: from now on nothing that the process does has an effect.
    func kill() {
        guard let process else { return }
        self.process = nil
        dying = process
        callsToLive = nil
        process.remote.hangUp()
        process.client.assumeIsolated { $0.close() }
        process.work?.cancel()
    }

    /// As `kill`, and what was not synchronised is gone too. Answers the words that are, and that no document has.
    func losePower() -> Set<String> {
        let known = process?.client.assumeIsolated { client in
            TaskSync.queries(of: "alice", in: Simulation.database).compactMap { try? client.documents($0) }
                .joined().map { Simulation.text(of: $0.document) }
        }
        let before = words
        kill()
        disk.losePower()
        return before.subtracting(words).subtracting((known ?? []).flatMap { Words.found(in: $0, "q") })
    }

    /// All that the disk says.
    var words: Set<String> {
        var words: Set<String> = []
        for (path, bytes) in byUser({ $0.contents() }) {
            words.formUnion(Words.found(in: Array(path.string.utf8), "q"))
            if let bytes { words.formUnion(Words.found(in: bytes, "q")) }
        }
        return words
    }

    private func fault(_ operation: String, _ path: String) -> Int32? {
        guard !isInterfering else { return nil }
        // A dead process sees a dead disk until its tasks have ended.
        guard process != nil else { return EIO }
        if let left = callsToLive {
            callsToLive = left - 1
            if left <= 0 {
                kill()
                onDeath()
                return EIO
            }
        }
        trace(operation, path)
        isInterfering = true
        interfere()
        isInterfering = false
        return nil
    }

    // MARK: What others can see of it

    func noteRename(_ path: String) { renames[path] = scheduler.now }

    /// Whether the process must know by now that the file has this name.
    func hasSeen(_ path: String) -> Bool {
        guard let time = renames[path] else { return true }
        return isRunning && max(time, started) + .seconds(60) < scheduler.now
    }

    /// What the user does to the disk.
    func byUser<Result>(_ body: (MemoryDisk) throws -> Result) rethrows -> Result {
        let before = isInterfering
        isInterfering = true
        // A user with a full disk loses words of his own accord.
        let capacity = disk.capacity
        disk.setCapacity(.max)
        defer {
            isInterfering = before
            disk.setCapacity(capacity)
        }
        return try body(disk)
    }

    /// Runs `body` on the bridge, if there is one.
    func withSync<Result: Sendable>(_ body: @escaping @Sendable (TaskSync, DocumentClient) async throws -> Result)
        async throws -> Result?
    {
        guard let process else { return nil }
        return try await body(process.sync, process.client)
    }

    func perform(_ body: @escaping @Sendable (TaskSync) async throws -> Void) {
        guard let sync = process?.sync else { return }
        Task { try? await body(sync) }
    }

    func networkChanged() {
        guard let client = process?.client else { return }
        Task { await client.networkChanged() }
    }

    /// Every task file by path.
    var files: [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for (path, bytes) in byUser({ $0.contents() }) {
            if let bytes, path.kind(isDirectory: false) == .taskFile { files[path.string] = bytes }
        }
        return files
    }

    var directories: [String] {
        byUser { $0.contents() }.filter { $0.value == nil && !$0.key.string.hasPrefix(".ferry") }.map(\.key.string)
            .sorted()
    }
}
