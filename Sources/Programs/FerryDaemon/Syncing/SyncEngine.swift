import AccountClient
import Control
import DocumentClient
import HTTPClient
import HTTPMessages
import ObjectStorage
import SQLite
import SystemIO
import SystemService
import TaskFolder
import TaskModel
import TaskSync

/// Runs the stack of the signed-in account, and restarts it when it fails.
actor SyncEngine {
    /// The reason why the stack does not run.
    struct Trouble: Sendable, Hashable {
        var message: String
        var hint: String?
    }

    private let configuration: DaemonConfiguration
    private let state: StateDirectory
    private let rootLock: RootLock
    private let account: Account
    private let http: HTTPClient
    private let hub: EventHub
    private let logger: Logger
    private let gate: AsyncGate
    /// The operations in progress, also while they are stuck.
    nonisolated let activity = Activity(now: Environment.system.now)

    /// The stack while it runs, or is about to.
    private(set) var stack: SyncStack?
    private(set) var trouble: Trouble?
    /// Notices for the user that stay until the daemon ends.
    private(set) var notices: [Problem] = []
    private(set) var isStopping = false
    private var objects: LimitedObjectStore?
    private var limits: (up: Int?, down: Int?)
    private var takesOver = false
    /// Whether the next stack accepts the tasks directory and the remote even if they are not those
    /// remembered.
    private var rebinds: Bool
    private var runner: Task<Void, Never>?
    /// Opens once the runner has opened its stack, or failed to.
    private var opened = AsyncGate(isOpen: true)
    private var refresher: Task<Void, Never>?

    init(
        configuration: DaemonConfiguration, state: StateDirectory, rootLock: RootLock, account: Account,
        http: HTTPClient,
        hub: EventHub, logger: Logger
    ) {
        self.configuration = configuration
        rebinds = configuration.rebinds
        self.state = state
        self.rootLock = rootLock
        self.account = account
        self.http = http
        self.hub = hub
        self.logger = logger
        gate = AsyncGate(isOpen: !state.isPaused)
        limits = (configuration.uploadLimit, configuration.downloadLimit)
    }

    // MARK: Starting and stopping

    /// Starts the stack of the signed-in account. Returns once its state is open or could not be
    /// opened, without waiting for the network.
    ///
    /// - Parameter takesOver: Whether the tasks directory may carry the mark of another account,
    ///   whose tasks are then merged with those of this one.
    func start(takesOver: Bool = false) async {
        // If the server must first be asked for the addresses of its parts, do not wait for it.
        let opened = AsyncGate(isOpen: await !account.knowsServer)
        guard await account.current != nil else {
            if directoryAccount == .alone { await startAlone() }
            return
        }
        await start(takesOver: takesOver, opened: opened)
    }

    /// Starts the stack of a machine before the first sign-in, which sends the tasks to the server.
    /// Does nothing if the tasks directory belongs to an account, whose tasks a sign-in continues.
    func startAlone() async {
        guard await account.current == nil, [nil, .alone].contains(directoryAccount) else { return }
        await start(takesOver: false, opened: AsyncGate(isOpen: false))
    }

    private func start(takesOver: Bool, opened: AsyncGate) async {
        if runner == nil, !isStopping {
            self.takesOver = takesOver
            self.opened = opened
            runner = Task {
                await self.keepRunning(opened)
                opened.set(isOpen: true)
            }
        }
        await self.opened.wait(isOpen: true)
    }

    /// Ends the stack in an orderly way.
    func end() async {
        guard let runner else { return }
        runner.cancel()
        await runner.value
        if self.runner == runner { self.runner = nil }
        trouble = nil
        hub.poke()
    }

    /// Restarts the stack and accepts the present tasks directory and remote. Files are merged;
    /// nothing is deleted.
    func rebind() async {
        await end()
        rebinds = true
        await start()
    }

    /// Ends the stack, after which none starts again.
    func stop() async {
        isStopping = true
        refresher?.cancel()
        await end()
    }

    /// Runs stacks one after another until cancelled.
    private func keepRunning(_ opened: AsyncGate) async {
        // 1, 2, 4 … 64 s, so that a fault that stays costs nothing.
        var backoff = Backoff(.seconds(1) ... .seconds(64), spread: 1...1)
        while !Task.isCancelled {
            let began = ContinuousClock.now
            do {
                let stack = try await open()
                self.stack = stack
                trouble = nil
                opened.set(isOpen: true)
                hub.poke()
                refreshServer()
                let result = await self.result(of: stack)
                self.stack = nil
                await activity.during("closing the state file and the connection") { await stack.close() }
                try result.get()
            } catch is CancellationError {
                break
            } catch {
                if Task.isCancelled { break }
                await note(error)
                opened.set(isOpen: true)
            }
            if ContinuousClock.now - began > .seconds(60) { backoff.reset() }
            try? await Task.sleep(for: backoff.next(random: 0))
        }
    }

    private func result(of stack: SyncStack) async -> Result<Void, any Error> {
        do {
            try await stack.run(gate: gate, onChange: { [hub] in hub.poke() })
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    private func open() async throws -> SyncStack {
        let userID = await account.user
        let server = userID == .alone ? .none : try await account.describeServer()
        let replica = state.replica(of: server.identity(of: userID.rawValue))
        var place = try S3Configuration(endpoint: server.objects, bucket: server.bucket, region: server.region)
        // It is unknown whether the stores of others support these.
        if server.keepsObjects { (place.integrity, place.usesArchives) = (.crc32c, true) }
        let store = S3ObjectStore(
            place, credentials: keys(for: server), client: http)
        let limited = LimitedObjectStore(store, up: limits.up, down: limits.down)
        self.objects = limited
        // A store that knows nothing about documents must be cleaned up by the clients.
        let objects: any ObjectStore =
            server.keepsObjects
            ? limited
            : CollectedObjectStore(
                limited, namespace: try ObjectNamespace(user: userID.rawValue), storeTime: { store.storeTime })
        var configuration = configuration
        configuration.rebinds = rebinds || takesOver && isOfAnother(than: userID)
        (takesOver, rebinds) = (false, false)
        let logger = logger
        let (settings, rootLock) = (configuration, rootLock)
        func loaded(repairing: Bool) async throws -> SyncStack {
            let stack = try SyncStack(
                server, userID: userID, account: account, replica: replica, repairs: repairing,
                objects: RetryingObjectStore(objects),
                configuration: settings, rootLock: rootLock, activity: activity, logger: logger)
            do { try await stack.sync.load() } catch {
                await stack.close()
                throw error
            }
            return stack
        }
        do {
            return try await loaded(repairing: false)
        } catch  where error.isCorruption {
            try setAside(replica)
        } catch  where error.isRowDamage {
            do {
                let stack = try await loaded(repairing: true)
                noteRepair(replica, await stack.client.repairs)
                return stack
            } catch  where error.isCorruption || error.isRowDamage || error.isConstraint {
                try setAside(replica)
            }
        }
        return try await loaded(repairing: false)
    }

    private func keys(for server: ServerDescription) -> S3Credentials.Provider {
        if server == .none {
            return { throw ObjectStorageError(.transient, "nobody is signed in; \(Account.nobody.hint ?? "")") }
        }
        if server.keepsObjects { return { [account] in try await account.storageKeys() } }
        guard let file = configuration.objectsKeys else {
            return {
                guard let keys = S3Credentials.fromEnvironment() else {
                    throw ObjectStorageError(
                        .permission,
                        "attachments are stored in \(server.objectsPlace), and this machine has no keys for it; name a file with keys "
                            + "as objects-keys in ferryd.yaml")
                }
                return keys
            }
        }
        let keys = S3CredentialsFile(
            path: file, for: server.objectsPlace, credentialsDirectory: ProcessEnvironment["CREDENTIALS_DIRECTORY"])
        return { try keys.credentials(now: Clocks.wallSeconds()) }
    }

    /// Throws the reason why this machine cannot access its objects.
    func probeObjects() async throws {
        guard case let userID = await account.user, userID != .alone else { return }
        _ = try await objects?.list(prefix: "\(userID)/", after: nil, limit: 1)
    }

    /// The holder of the lock that keeps other daemons out of the tasks directory.
    nonisolated var rootHolder: RootLock.Holder { rootLock.holder }

    /// Whether no transfer runs, so that a restart interrupts nothing.
    var isIdle: Bool {
        get async { await stack?.sync.counts().activeTransfers ?? 0 == 0 }
    }

    /// Shows what the configuration file has that is not in force; nil: nothing.
    func note(configuration problem: Problem?) {
        notices.removeAll { $0.code == "configuration" }
        if let problem { notices.append(problem) }
        hub.poke()
    }

    /// Whether the tasks directory bears the mark of another account.
    private func isOfAnother(than userID: UserID) -> Bool { directoryAccount.map { $0 != userID } ?? false }

    /// The account whose mark the tasks directory carries; nil if it has none.
    nonisolated var directoryAccount: UserID? {
        guard let root = try? DirectoryTaskFolder(disk: KernelDisk(path: configuration.tasks)).rootState(),
            case .valid(let marker) = root.marker
        else { return nil }
        return UserID(marker.account)
    }

    /// Records why a stack failed.
    private func note(_ error: any Error) async {
        logger.error("syncing stopped and will be retried", ["error": "\(error)"])
        switch error {
        case let error as ControlError: trouble = Trouble(message: error.message, hint: error.hint)
        default: trouble = Trouble(message: "\(error)", hint: "For details: journalctl --user -u ferryd")
        }
        let userID = await account.user
        let server = userID == .alone ? ServerDescription.none : try? await account.describeServer()
        if error.isCorruption, let server {
            do { try setAside(state.replica(of: server.identity(of: userID.rawValue))) } catch {
                logger.error("the damaged state file cannot be renamed", ["error": "\(error)"])
            }
        }
        hub.poke()
    }

    /// Reports that rows of the state file were damaged and are being rebuilt from the server and
    /// the files.
    private func noteRepair(_ replica: String, _ repairs: Repairs) {
        var message =
            "Some entries of the state file \(replica) were damaged. They are rebuilt from the server and the files."
        if !repairs.mutations.isEmpty {
            message +=
                " Unsent changes of \(repairs.mutations.count) documents are taken from the files."
        }
        logger.error("\(message)", ["documents": "\(repairs.documents.union(repairs.mutations).sorted())"])
        notices.removeAll { $0.code == "state-repaired" }
        notices.append(
            Problem(
                code: "state-repaired", subject: replica, message: message,
                hint: "Check the disk (smartctl) and the memory. This notice stays until ferryd is restarted."))
    }

    /// Keeps a damaged state file for inspection. A new one is built from the files and the server.
    private func setAside(_ replica: String) throws {
        let place = try state.setAside(replica: replica, time: String(Clocks.wallSeconds()))
        let message =
            "The state file was damaged and has been moved to \(place); a new one is built from the tasks directory and the "
            + "server. Unsent changes that were not in files may be missing."
        logger.error("\(message)")
        notices.append(
            Problem(code: "state-damaged", subject: place, message: message, hint: "Remove it when no data is missing.")
        )
    }

    // MARK: What the outside wants

    var isPaused: Bool { !gate.isOpen }

    /// Pauses or resumes syncing. The setting survives a restart.
    func setPaused(_ isPaused: Bool) async throws {
        do { try state.setPaused(isPaused) } catch {
            throw ControlError(.internal, "The setting cannot be saved for the next start: \(error.message)")
        }
        await stack?.sync.setPaused(isPaused)
        gate.set(isOpen: !isPaused)
        logger.notice(isPaused ? "paused" : "resumed")
        hub.poke()
    }

    func limit(up: Int?, down: Int?) {
        limits = (up, down)
        objects?.limit(up: up, down: down)
    }

    /// Reconnects, because the network changed or the machine woke up.
    func networkChanged() async {
        await stack?.networkChanged()
        refreshServer()
    }

    func mountsChanged() async { await stack?.sync.mountsChanged() }

    /// Retries and reconnects at once, because the user asked for a sync.
    func hurry() async {
        guard let stack else { return }
        try? await stack.client.retryRefusedForQuota()
        if case .offline = stack.clientStatus.connection { await stack.networkChanged() }
    }

    /// Waits for a response of every working part, for the watchdog.
    func turn() async {
        guard let stack else { return }
        _ = await stack.client.currentStatus
        _ = await stack.sync.isPaused
    }

    /// Checks in the background whether the server's parts have moved, and restarts the stack if
    /// they have.
    private func refreshServer() {
        guard refresher == nil, !isStopping else { return }
        refresher = Task {
            let hasMoved = (try? await account.refreshServer()) ?? false
            refresher = nil
            guard hasMoved, !Task.isCancelled, runner != nil else { return }
            logger.notice("the addresses of the server have changed; connecting to them")
            await end()
            await start()
        }
    }
}

extension Error {
    /// Whether single rows of the state file are damaged, which can be rebuilt.
    fileprivate var isRowDamage: Bool {
        switch self {
        case let error as SQLiteError: error.code == .damagedRow
        case let error as DocumentClientError: error.cause?.isRowDamage ?? false
        default: false
        }
    }

    fileprivate var isConstraint: Bool { (self as? SQLiteError)?.code == .constraint }

    /// Whether the state file is damaged.
    fileprivate var isCorruption: Bool {
        switch self {
        case let error as SQLiteError: error.code == .corrupt
        case let error as DocumentClientError: error.code == .corrupt || error.cause?.isCorruption ?? false
        default: false
        }
    }
}

extension UserID {
    /// The user to whom tasks belong before the first sign-in.
    static let alone = UserID("alone")
}
