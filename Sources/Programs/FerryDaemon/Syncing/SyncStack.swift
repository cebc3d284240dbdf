import AccountClient
import DocumentClient
import DocumentModel
import HTTPMessages
import ObjectStorage
import SQLite
import Synchronization
import SystemIO
import SystemService
import TaskFolder
import TaskModel
import TaskSync

/// The parts that sync an account's tasks: the replica with its client, the bridge to the files,
/// and the object store.
final class SyncStack: Sendable {
    let client: DocumentDatabase
    let sync: TaskSync
    /// The machines of the account.
    let devices: DeviceRegistry
    /// The current status of the connection to the remote.
    var clientStatus: ClientStatus { latest.withLock { $0 } }
    /// The position of the feed of changes when the stack started; nil before.
    var firstSequence: Int64? { first.withLock { $0 } }
    private let first = Mutex<Int64?>(nil)
    private let inStep = Mutex<Int64?>(nil)
    private let remote: FirestoreRemote
    private let latest = Mutex(ClientStatus())
    private let configuration: DaemonConfiguration
    /// Whether the machine has no account yet.
    let isAlone: Bool
    private let activity: Activity
    private let logger: Logger

    /// Opens the state file. Blocks.
    init(
        _ server: ServerDescription, userID: UserID, account: Account, replica: String, repairs: Bool,
        objects: any ObjectStore, configuration: DaemonConfiguration, rootLock: RootLock, activity: Activity,
        logger: Logger
    ) throws {
        self.configuration = configuration
        isAlone = server == .none
        self.activity = activity
        self.logger = logger
        let database = try DatabaseName(parsing: "projects/\(server.project)/databases/\(server.database)")
        let security: FirestoreRemote.Security =
            server.documentsUseTLS ? .tls(roots: configuration.authorities?.pem) : .plaintext
        remote = FirestoreRemote(
            FirestoreRemote.Configuration(
                endpoint: server.documents, database: database, security: security,
                token: { try await account.token(isRefused: $0) }))
        var options = ClientOptions()
        options.policies = .tasks
        options.remoteIdentity = server.identity(of: userID.rawValue)
        options.repairs = repairs
        client = try DocumentDatabase(path: replica, database: database, remote: remote, options: options)
        var settings = TaskSync.Configuration(
            userID: userID, remote: server.url, rebinds: configuration.rebinds,
            downloadsUpTo: configuration.downloadsUpTo.map(Int64.init), compression: configuration.compression,
            trashDays: configuration.trashDays,
            objectStore: server.keepsObjects ? "" : server.objectsPlace, wallClock: Clocks.wallSeconds)
        settings.repairs = repairs
        settings.reading = configuration.reading
        settings.isAlone = isAlone
        let boot = try? FileSystem.read("/proc/sys/kernel/random/boot_id", limit: 64)
        settings.bootID = boot.map { String(decoding: $0, as: UTF8.self) }
        sync = TaskSync(
            configuration: settings,
            folder: DirectoryTaskFolder(disk: KernelDisk(path: configuration.tasks, lock: rootLock)), client: client,
            objects: objects,
            logger: logger, activity: activity)
        devices = DeviceRegistry(client: client, userID: userID, name: configuration.deviceName)
    }

    /// Syncs until cancelled or until a part fails.
    ///
    /// - Parameters:
    ///   - gate: A gate that is closed while the user has paused syncing.
    ///   - onChange: Called after every turn and whenever the remote's status changes. It must be
    ///     quick.
    func run(gate: AsyncGate, onChange: @escaping @Sendable () -> Void) async throws {
        let sequence = try await client.reading { $0.latestSequence }
        first.withLock { $0 = sequence }
        try await devices.begin()
        let observer = await sync.observe(onChange)
        await sync.setPaused(!gate.isOpen)
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                func add(_ name: String, _ part: @escaping @Sendable () async throws -> Void) {
                    group.addTask { try await self.activity.during(name, isLasting: true, part) }
                }
                add("the sync of files") { try await self.sync.run() }
                add("the connection") { try await self.runClient(gate) }
                add("the state of the connection") { try await self.followStatus(onChange) }
                add("the list of machines") { try await self.devices.run() }
                add("the wait for room on the server") { try await self.retryRefused() }
                try await group.next()
                group.cancelAll()
            }
            await stopTransfers(observer)
        } catch {
            await stopTransfers(observer)
            throw error
        }
    }

    /// Stops the transfers, which are separate tasks. The next stack resumes from the data that
    /// they have moved.
    private func stopTransfers(_ observer: Int) async {
        let part = activity.begin("the stop of transfers")
        defer { activity.end(part) }
        await sync.stopObserving(observer)
        // Pause first, so that a waiting transfer does not start in place of one that ends.
        await sync.setPaused(true)
        for transfer in await sync.allTransfers {
            switch transfer.work {
            case .upload(let work)?: work.cancel()
            case .download(let work)?: work.cancel()
            case nil: break
            }
        }
    }

    /// Runs the client while the gate is open. Nothing is sent or received while it is closed.
    private func runClient(_ gate: AsyncGate) async throws {
        // Without a server there is nothing to connect to, until a sign-in replaces the stack.
        while isAlone { try await Task.sleep(for: .seconds(86_400)) }
        while !Task.isCancelled {
            await gate.wait(isOpen: true)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    do { try await self.client.run() } catch is CancellationError {}
                }
                group.addTask { await gate.wait(isOpen: false) }
                try await group.next()
                group.cancelAll()
            }
        }
    }

    /// The time at which both sides were last known to be equal, in milliseconds since 1970 by this
    /// machine's clock; nil if never.
    var lastInStep: Int64? {
        if clientStatus.isInStep { return Clocks.wallMilliseconds() }
        return inStep.withLock { $0 }
    }

    private func followStatus(_ onChange: @Sendable () -> Void) async throws {
        var rebinds = configuration.rebinds
        for await status in await client.statuses {
            if clientStatus.isInStep || status.isInStep { inStep.withLock { $0 = Clocks.wallMilliseconds() } }
            latest.withLock { $0 = status }
            onChange()
            switch status.connection {
            case .otherRemote(let reason) where rebinds:
                logger.notice("accepting the present remote", ["because": reason])
                try await sync.offerAttachments()
                try await client.adoptRemote()
            // A rebind applies once; later mismatches are held again.
            case .online: rebinds = false
            default: break
            }
        }
    }

    /// Retries changes that were refused because of a quota: one every minute, and all once that
    /// one is accepted.
    private func retryRefused() async throws {
        try await client.retryRefusedForQuota(limit: 1)
        while true {
            try await Task.sleep(for: .seconds(60))
            let before = try await client.refusedForQuota().count
            guard before > 0 else { continue }
            try await client.retryRefusedForQuota(limit: 1)
            try await Task.sleep(for: .seconds(240))
            if try await client.refusedForQuota().count < before { try await client.retryRefusedForQuota() }
        }
    }

    func networkChanged() async {
        remote.networkChanged()
        await client.networkChanged()
    }

    /// Closes the replica and the connection. Call after `run` has ended.
    func close() async {
        await client.close()
        remote.close()
    }
}

extension ClientStatus {
    /// Whether the remote has all local changes, and this replica has all remote changes.
    fileprivate var isInStep: Bool { connection == .online && isCurrent && pendingCount == 0 }
}
