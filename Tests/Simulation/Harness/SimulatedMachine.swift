import DocumentClient
import DocumentModel
import DocumentStore
import Glibc
import ObjectStorage
import SQLite
import SystemIO
import SystemService
import TaskFolder
import TaskModel
import TaskSync

/// A machine of the user: a disk, a state file, and a process that is started and killed, made of
/// the real bridge and the real client.
///
/// `@unchecked Sendable`: the scheduler runs one job at a time.
final class SimulatedMachine: @unchecked Sendable {
    /// The process: the state that is lost when it dies.
    private final class Process: @unchecked Sendable {
        let client: DocumentDatabase
        let folder: MemoryTaskFolder
        let sync: TaskSync
        let remote: SimulatedRemote
        let objects: SimulatedObjects
        var work: Task<Void, Never>?

        init(
            client: DocumentDatabase, folder: MemoryTaskFolder, sync: TaskSync, remote: SimulatedRemote,
            objects: SimulatedObjects
        ) {
            self.client = client
            self.folder = folder
            self.sync = sync
            self.remote = remote
            self.objects = objects
        }
    }

    nonisolated(unsafe) private static var count = 0

    let name: String
    let disk: MemoryDisk
    private let scheduler: Scheduler
    private let store: StoreRemote
    private let server: SimulatedServer
    private let objects: MemoryObjectStore
    private let statePath: String
    /// A connection that keeps the in-memory state file while no process has it open.
    private let stateFile: SQLiteDatabase
    private var process: Process?
    /// Another program on this machine.
    private(set) var program: SimulatedProgram?
    /// A killed process whose tasks have not ended yet.
    private var dying: Process?
    /// The milliseconds that are added to the local clock.
    var clockSkew: Int64 = 0
    var link = SimulatedRemote.Link.good { didSet { tell() } }
    var lossRate = 0 { didSet { tell() } }
    var isSignedOut = false { didSet { tell() } }
    var refuses: (Write) -> RemoteError.Code? = { _ in nil } { didSet { tell() } }
    /// Whether the disk of the state file is full.
    private(set) var isStateFull = false
    private var stateLastFull = Duration.seconds(-1)
    /// The number of disk calls until the process dies; nil if it is not about to die.
    var callsToLive: Int?
    /// Called before some calls of the disk, so that a user can change the tree at that moment.
    var interfere: (_ path: String) -> Void = { _ in }
    /// Whether the file system can neither exchange two names nor refuse a name that is taken.
    var lacksRenameFlags = false
    /// The file for which a rename with such a flag was last attempted.
    private var renamed = ""
    /// The file that the process renamed in its last disk call: its old path, and the birth marks
    /// of its task.
    private(set) var justRenamed: (from: String, marks: Set<String>)?
    /// Called before the process puts a file that it has written into its place.
    var onPlacing: (() -> Void)?
    /// Called before the process checks whether the directory is the known one.
    var onCheckingRoot: (() -> Void)?
    /// Whether the machine has left and will not come back.
    private(set) var hasLeft = false
    private var isInterfering = false
    /// The file that the user edited last, with its content before and after.
    var lastEdit: (path: String, before: [UInt8], after: [UInt8])?
    /// The files that an editor is saving.
    var busy: Set<String> = []
    /// A busy file that a command has yet to read before its task is removed, and whether the
    /// command has started to read it.
    private var unread: (path: String, isBeingRead: Bool)?
    private var renames: [String: Duration] = [:]
    private var news: [String: Duration] = [:]
    private var deletions: [String: (marks: Set<String>, time: Duration, mayBeHeld: Bool)] = [:]
    /// The time of the last power cut, and the tasks whose files lost their content in it, so that
    /// the files can no longer be attributed.
    private var powerLoss: Duration?
    private(set) var powerCuts = 0
    private(set) var emptied: [UInt8] = []
    /// The files that an editor has removed and recreated, until the process reads them. A power
    /// cut may leave neither version.
    var remade: Set<String> = []
    /// The words of the recreated files that a power cut has taken.
    private(set) var taken: [UInt8] = []
    private var started = Duration.zero
    /// The tasks whose removal a command has requested, which may still wait for its turn.
    var removed: Set<TaskID> = []
    /// Violations: the process ended on its own.
    private(set) var failures: [String] = []
    var logger = Logger.silent
    /// Called with every disk call of the process.
    /// What a user does next, at a certain time or before that in the middle of the bridge's work.
    var nextStep: (number: Int, action: () -> Void)?
    var stepCount = 0
    var trace: (_ operation: String, _ path: String) -> Void = { _, _ in }
    /// Called when the process dies on its own.
    var onDeath: () -> Void = {}
    /// Called when the user rebinds the machine.
    var onRebind: () -> Void = {}
    /// Called with values that the process has written, and forgets by dying, after a user has
    /// removed them.
    var onForgetting: (Set<String>) -> Void = { _ in }
    private var removals: [(words: Set<String>, time: Duration)] = []

    /// Creates a machine that is not started.
    ///
    /// - Parameter scratch: A directory for files that are read and written by path.
    init(
        name: String, store: StoreRemote, server: SimulatedServer, objects: MemoryObjectStore, scheduler: Scheduler,
        scratch: String
    ) throws {
        self.name = name
        self.store = store
        self.server = server
        self.objects = objects
        self.scheduler = scheduler
        disk = MemoryDisk(scratch: scratch)
        disk.setReusesInodes(true)
        // Use a new name, because objects of an earlier run that are not released yet must not be
        // found.
        SimulatedMachine.count += 1
        statePath = "/machine\(SimulatedMachine.count)"
        var configuration = SQLiteConfiguration()
        configuration.fileSystem = "memdb"
        stateFile = try SQLiteDatabase(path: statePath, configuration: configuration)
        try Self.newState.get().copy(into: stateFile)
        disk.setFault { [unowned self] operation, path in self.fault(operation, path) }
    }

    var isRunning: Bool { process != nil }
    var isFullyWatched: Bool { process?.folder.isFullyWatched ?? false }

    // MARK: Life and death

    /// Starts the process.
    ///
    /// - Parameter rebinds: Whether it accepts the present server and directory.
    func start(rebinds: Bool = false) {
        guard process == nil, !hasLeft else { return }
        guard dying == nil else { return scheduler.after(.milliseconds(10)) { self.start(rebinds: rebinds) } }
        started = scheduler.now
        let environment = scheduler.environment { [scheduler, unowned self] in
            let (seconds, attoseconds) = scheduler.now.components
            return 1_790_000_000_000 + seconds * 1000 + attoseconds / 1_000_000_000_000_000 + self.clockSkew
        }
        let remote = SimulatedRemote(store, server, scheduler)
        let objects = SimulatedObjects(objects, server, scheduler)
        var options = ClientOptions()
        options.policies = .tasks
        options.environment = environment
        options.fileSystem = "memdb"
        do {
            let client = try DocumentDatabase(
                path: statePath, database: Simulation.database, remote: remote, options: options)
            let folder = MemoryTaskFolder(disk: disk)
            var configuration = TaskSync.Configuration(
                userID: UserID("alice"), remote: "simulated", rebinds: rebinds,
                wallClock: { environment.wallClock() / 1000 })
            configuration.bootID = "boot \(powerCuts)"
            let sync = TaskSync(
                configuration: configuration, folder: folder, client: client, objects: objects, logger: logger,
                environment: environment)
            let process = Process(client: client, folder: folder, sync: sync, remote: remote, objects: objects)
            self.process = process
            let other = try program?.start(SimulatedRemote(store, server, scheduler), environment)
            tell()
            if isStateFull { setStateFull(true) }
            // The daemon does the same; before the server was restored nothing depends on it.
            let loadsFirst = server.isDown || server.restoreCount > 0
            process.work = Task { [weak self, weak process] in
                do {
                    if loadsFirst { try await sync.load() }
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask { try await client.run() }
                        group.addTask { try await sync.run() }
                        if let other {
                            group.addTask {
                                try await other.keep([SimulatedProgram.query])
                                try await other.run()
                            }
                        }
                        if rebinds { group.addTask { try await Self.rebind(sync, client) } }
                        try await group.next()
                        group.cancelAll()
                    }
                    self?.ended(process, nil)
                } catch {
                    self?.ended(process, error)
                }
            }
        } catch {
            if !restarts(after: error) { failures.append("\(name) cannot start: \(error)") }
        }
    }

    /// Accepts a changed server once, like the daemon.
    private static func rebind(_ sync: TaskSync, _ client: DocumentDatabase) async throws {
        var rebinds = true
        for await status in await client.statuses {
            switch status.connection {
            case .otherRemote where rebinds:
                try await sync.offerAttachments()
                try await client.adoptRemote()
            case .online: rebinds = false
            default: break
            }
        }
        throw CancellationError()
    }

    /// Rebinds the machine if it waits for that, like a user who checks its state.
    func rebindIfHeld() {
        guard server.restoreCount > 0, let process else { return }
        Task {
            guard case .otherRemote = await process.client.currentStatus.connection, self.process === process else {
                return
            }
            onRebind()
            kill()
            start(rebinds: true)
        }
    }

    /// Passes the present state of the network, the remote and the account to the process.
    private func tell() {
        guard let process else { return }
        func tell(_ remote: SimulatedRemote) {
            remote.set(link)
            remote.lossRate = lossRate
            remote.isSignedOut = isSignedOut
            remote.refuses = refuses
        }
        tell(process.remote)
        program?.tell(tell)
        process.objects.link = link
        process.objects.lossRate = lossRate
    }

    /// Installs another program on this machine.
    func install(hasReceipt: Bool) throws {
        program = try SimulatedProgram(on: name, statePath: statePath, hasReceipt: hasReceipt)
    }

    /// Whether the process is restarted after an error: a full state file ends it, and the user
    /// starts it again.
    private func restarts(after error: any Error) -> Bool {
        // There may be room again when the process has ended.
        guard isStateFull || scheduler.now < stateLastFull + .seconds(1), (error as? SQLiteError)?.code == .full else {
            return false
        }
        onDeath()
        scheduler.after(.seconds(5)) { self.start() }
        return true
    }

    /// Limits the state file to its present size, or removes the limit.
    func setStateFull(_ isFull: Bool) {
        if isStateFull { stateLastFull = scheduler.now }
        isStateFull = isFull
        guard let client = process?.client else { return }
        try? client.assumeIsolated { client in
            try client.reading { transaction in
                let count = try transaction.database.first("PRAGMA page_count") { $0.int64(0) } ?? 0
                try transaction.database.executeScript("PRAGMA max_page_count=\(isFull ? count : 1 << 30)")
            }
        }
    }

    private func ended(_ process: Process?, _ error: (any Error)?) {
        if let process, dying === process { dying = nil }
        guard let process, self.process === process else { return }
        self.process = nil
        process.remote.hangUp()
        process.objects.hangUp()
        process.client.assumeIsolated { $0.close() }
        program?.kill()
        if let error, restarts(after: error) { return }
        failures.append("\(name) ended by itself: \(error.map { "\($0)" } ?? "without a reason")")
    }

    /// Kills the process, like kill -9: from now on nothing that it does has an effect.
    func kill() {
        guard let process else { return }
        self.process = nil
        for removal in removals where removal.time + .seconds(1) >= scheduler.now { onForgetting(removal.words) }
        removals = []
        dying = process
        callsToLive = nil
        process.remote.hangUp()
        process.objects.hangUp()
        process.client.assumeIsolated { $0.close() }
        program?.kill()
        process.work?.cancel()
    }

    func leave() {
        hasLeft = true
        kill()
    }

    /// Returns a copy of the state file.
    func stateBackup() throws -> SQLiteDatabase { try Self.stateFile(named: "backup", from: stateFile) }

    /// Kills the process and puts an earlier state file back. Returns the words that only the
    /// documents of the later one had.
    func restore(_ backup: SQLiteDatabase, _ wordsOf: (Document) -> Set<String>) -> Set<String> {
        let known = knownDocuments
        kill()
        do { try backup.copy(into: stateFile) } catch { failures.append("\(name) cannot get its old state: \(error)") }
        return Set(known.flatMap(wordsOf)).subtracting(words())
    }

    private var knownDocuments: [Document] {
        process?.client.assumeIsolated { client in
            TaskSync.queries(of: UserID("alice"), in: Simulation.database).compactMap { try? client.documents($0) }
                .joined().map(\.document)
        } ?? []
    }

    /// Kills the process and loses everything that was not synchronized. Returns the lost words
    /// that no document has.
    func losePower(_ wordsOf: (Document) -> Set<String>) -> Set<String> {
        let known = knownDocuments
        let before = words()
        let files = exactFiles(.taskFile)
        kill()
        disk.losePower()
        powerLoss = scheduler.now
        powerCuts += 1
        let left = exactFiles(.taskFile)
        for (path, bytes) in files where left[path].map({ Words.found(in: $0, "b").isEmpty }) == true {
            emptied += bytes
        }
        taken = files.filter { left[$0.key] == nil && remade.contains($0.key.string) }
            .flatMap { Array("\($0.key)\n".utf8) + $0.value }
        return before.subtracting(words()).subtracting(known.flatMap(wordsOf))
    }

    /// The documents with a change that is reported as waiting for an earlier one although there is
    /// none.
    var falselyWaiting: [String] {
        var paths: [String] = []
        try? stateFile.query(
            """
            SELECT DISTINCT b.path FROM client_mutation a JOIN client_mutation b
                ON b.path=a.path AND b.position>a.position OR b.batch=a.batch AND b.batch<>0
            WHERE a.parked IS NOT NULL AND b.parked IS NULL
            """
        ) { paths.append($0.text(0)) }
        return paths
    }

    /// Returns the words on the disk, in the files for which `isMeant` is true.
    func words(where isMeant: (TaskPath) -> Bool = { _ in true }) -> Set<String> {
        var words: Set<String> = []
        for (path, bytes) in byUser({ $0.contents() }) where isMeant(path) {
            words.formUnion(Words.found(in: Array(path.string.utf8), "q"))
            if let bytes { words.formUnion(Words.found(in: bytes, "q")) }
        }
        return words
    }

    /// Returns the words of task files as recorded in the state file, or only those of files that a
    /// power cut has emptied.
    func notedWords(ofEmptied isEmptied: Bool = false) -> Set<String> {
        var words: Set<String> = []
        let marks = Words.found(in: emptied, "b")
        try? stateFile.query("SELECT bytes FROM sync_file") { row in
            let bytes = row.bytes(0)
            guard !isEmptied || !marks.isDisjoint(with: Words.found(in: bytes, "b")) else { return }
            words.formUnion(Words.found(in: bytes, "q"))
        }
        return words
    }

    /// Records that a user removed values from a file that Ferry had just written and not recorded.
    ///
    /// If the process dies now, it will take the file for the version before its write, and cannot
    /// know that the user has seen the values.
    func noteRemoval(_ words: Set<String>) {
        // A process that has just started has not examined the file either.
        guard isRunning, started + .seconds(1) < scheduler.now else { return onForgetting(words) }
        removals.removeAll { $0.time + .seconds(1) < scheduler.now }
        removals.append((words, scheduler.now))
    }

    private func fault(_ operation: String, _ path: String) -> Int32? {
        guard !isInterfering else { return nil }
        // For a dead process the disk fails until its tasks have ended.
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
        if operation == "read" { remade.remove(path) }
        if operation == "rename", path.hasSuffix(Directory.temporarySuffix), !path.hasPrefix(TaskPath.privateDirectory)
        {
            onPlacing?()
        }
        if let unread, unread.path == path {
            switch operation {
            case "read": self.unread?.isBeingRead = true
            // A file that changes while it is read is read again.
            case "examine", "examine after reading": break
            default: if unread.isBeingRead { leaveAlone(nil) }
            }
        }
        // An edit between the last check and a rename without flags is lost, which is a documented
        // limit.
        if operation == "rename", lacksRenameFlags {
            guard path.hasSuffix(Directory.temporarySuffix), !path.hasPrefix(TaskPath.privateDirectory),
                renamed != path
            else { return nil }
            renamed = path
            return EINVAL
        }
        isInterfering = true
        interfere(path)
        if operation == "read", path == TaskPath.privateDirectory + "/root" { onCheckingRoot?() }
        isInterfering = false
        justRenamed = operation == "rename" && !path.hasSuffix(Directory.temporarySuffix) ? (path, marks(path)) : nil
        return nil
    }

    /// Keeps users from saving this file until it has been read; nil ends that.
    func leaveAlone(_ path: String?) {
        if let unread { busy.remove(unread.path) }
        unread = path.map { ($0, false) }
        if let path { busy.insert(path) }
    }

    /// Returns a copy of the disk and the state file as they are now; `nil` while the disk is not there.
    func copy() throws -> MachineCopy {
        try MachineCopy(disk: disk.copy(), state: stateFile, objects: objects, bootID: "boot \(powerCuts)", scheduler)
    }

    // MARK: The view of others

    func noteRename(_ path: String) {
        for mark in marks(path) { renames[mark] = scheduler.now }
    }

    func noteNew(_ path: String) {
        for mark in marks(path) { news[mark] = scheduler.now }
    }

    /// Whether the process must know the present state of the file by now.
    func hasSeen(_ path: String) -> Bool { hasHeard(of: path, since: renames) }

    /// Whether a user renamed the file so recently that the process may not have looked at it since.
    func hasJustMoved(_ path: String) -> Bool {
        marks(path).contains { mark in renames[mark].map { $0 + .seconds(1) > scheduler.now } ?? false }
    }

    /// Whether the process may not know the file yet.
    func isNew(_ path: String) -> Bool { !hasHeard(of: path, since: news) }

    func noteDeletion(of path: String, _ marks: Set<String>, mayBeHeld: Bool) {
        deletions[path] = (marks, scheduler.now, mayBeHeld)
    }

    /// Returns the tasks that were deleted at the path and whose deletion the process may not know
    /// yet, or holds for review.
    func marksJustDeleted(at path: String) -> Set<String> {
        guard let (marks, time, mayBeHeld) = deletions[path] else { return [] }
        return isRunning && !mayBeHeld && max(time, started) + .seconds(5) < scheduler.now ? [] : marks
    }

    /// Returns the tasks that were deleted at the path, which a new file there may continue.
    func marksDeleted(at path: String) -> Set<String> { deletions[path]?.0 ?? [] }

    private func hasHeard(of path: String, since times: [String: Duration]) -> Bool {
        let marks = marks(path)
        guard let time = marks.isEmpty ? powerLoss : marks.compactMap({ times[$0] }).max() else { return true }
        return isRunning && max(time, started) + .seconds(60) < scheduler.now
    }

    /// Returns the birth marks of the file's task. Its name may be one that Ferry has just chosen.
    func marks(_ path: String) -> Set<String> {
        byUser { Words.found(in: (try? $0.read(path, limit: .max).bytes) ?? [], "b") }
    }

    /// Runs `body` as a user who changes the disk.
    func byUser<Result>(_ body: (MemoryDisk) throws -> Result) rethrows -> Result {
        let before = isInterfering
        isInterfering = true
        // A full disk is simulated for Ferry only; a user's own save would lose words.
        let capacity = disk.capacity
        disk.setCapacity(.max)
        defer {
            isInterfering = before
            disk.setCapacity(capacity)
        }
        return try body(disk)
    }

    /// Runs `body` on the bridge, if a process runs.
    func withSync<Result: Sendable>(_ body: @escaping @Sendable (TaskSync, DocumentDatabase) async throws -> Result)
        async throws -> Result?
    {
        guard let process else { return nil }
        return try await body(process.sync, process.client)
    }

    func perform(_ body: @escaping @Sendable (TaskSync) async throws -> Void) {
        guard let sync = process?.sync else { return }
        Task { try? await body(sync) }
    }

    var clients: [DocumentDatabase] { [process?.client, program?.client].compactMap(\.self) }

    func serverWentDown() { process?.remote.closeStreams() }

    func networkChanged() {
        for client in clients { Task { await client.networkChanged() } }
    }

    func signIn() {
        isSignedOut = false
        for client in clients { Task { await client.signedIn() } }
    }

    /// Makes a directory unreadable, like `chmod 0`.
    func forbid(_ directory: String) { byUser { try? $0.setMode(directory, 0) } }

    func permit(_ directory: String) { byUser { try? $0.setMode(directory, 0o755) } }
}
