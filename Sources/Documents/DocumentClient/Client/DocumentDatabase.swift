package import DocumentModel
import SQLite
import SystemIO

/// A local-first client of a document database.
///
/// Reads answer from a durable copy; writes go to a durable journal and show at once. `run` keeps
/// both in step with the remote: it sends what waits, watches queries, merges what others changed,
/// and outlives every interruption. All work on the state file happens on a thread of the client's
/// own.
public actor DocumentDatabase {
    private let executor: any SerialExecutor
    let replica: Replica
    let remote: any RemoteDocuments
    let options: ClientOptions
    let environment: Environment
    /// Keeps other clients from the state file; nil for one in memory, and after `close`.
    private var lock: FileLock?

    // Sending
    let sendWakeup = AsyncSignal()
    var sendDelay = Backoff.firestore
    var isHurried = false
    // Listening
    var session = ListenSession()
    var stream: (any RemoteListen)?
    /// Requests for a stream that is being opened.
    var unsent: [ListenSession.Action] = []
    /// Whether the present stream has delivered a message, by which the remote was identified.
    var hasMetRemote = false
    let listenWakeup = AsyncSignal()
    var listenDelay = Backoff.firestore
    var watched = WatchedTargets()
    var missing = MissingDocuments()
    var lastHeard: Duration
    // Observers
    var observers = ClientObservers()
    var status = ClientStatus()
    var lastStatus = ClientStatus()
    var isRunning = false
    var isClosed = false
    var needsSignIn = false

    /// The executor of the thread that accesses the state file.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Opens the state file, and creates it if necessary. Blocks while the file is migrated.
    package init(
        path: String, database: DatabaseName, remote: any RemoteDocuments, options: ClientOptions = ClientOptions()
    ) throws {
        var configuration = SQLiteConfiguration()
        configuration.cacheKiB = options.cacheKiB
        configuration.fileSystem = options.fileSystem
        let lock = options.fileSystem == nil && path != ":memory:" ? try FileLock.acquire(stateFile: path) : nil
        let file = try SQLiteDatabase(path: path, configuration: configuration)
        let id = options.replicaID.isEmpty ? DocumentID.make(in: options.environment) : options.replicaID
        let replica = try Replica(
            database: file, databaseName: database, replicaID: id, policies: options.policies,
            receipt: options.receipt, receipts: options.receipts, repairs: options.repairs,
            clock: options.environment.wallClock)
        if let identity = options.remoteIdentity, let known = try replica.bindRemote(identity) {
            status.connection = .otherRemote("The state belongs to \(known), but the remote is \(identity).")
        }
        self.lock = lock
        self.replica = replica
        self.remote = remote
        self.options = options
        environment = options.environment
        lastHeard = environment.now()
        status.count(replica.journal, oldest: { nil })
        executor = environment.executor?() ?? SerialThread()
    }

    /// The damage found when the state file was opened; empty unless it was opened for repair.
    package var repairs: Repairs { replica.repaired }

    deinit { (executor as? SerialThread)?.stop() }

    // MARK: Transactions of the file

    /// Runs `body` as one transaction of the state file: documents, journal, and the caller's own
    /// tables. Mutations are sent, and changes are shown to listeners, once the transaction is on
    /// disk. If `body` throws, everything is undone.
    ///
    /// - Parameter waitingForDisk: if false, a power failure may undo the transaction, but nothing
    ///   else. Meant for the caller's own tables.
    package func transaction<Result: Sendable>(
        waitingForDisk: Bool = true, _ body: @Sendable (ReplicaTransaction) throws -> Result
    ) throws -> Result {
        try checkOpen()
        let result = try replica.file.transaction(waitingForDisk: waitingForDisk) {
            try body(ReplicaTransaction(replica: replica))
        }
        published()
        return result
    }

    /// Reads without a transaction. `body` must not change anything.
    package func reading<Result: Sendable>(_ body: @Sendable (ReplicaTransaction) throws -> Result) throws -> Result {
        try checkOpen()
        return try body(ReplicaTransaction(replica: replica))
    }

    /// Returns when any document has changed after `sequence`.
    package func waitForChanges(after sequence: Int64) async throws {
        let (id, wakeup) = observers.addChangeWaiter()
        defer { observers.removeChangeWaiter(id) }
        while try replica.reader.changes(after: sequence, limit: 1).isEmpty {
            try checkOpen()
            try Task.checkCancellation()
            await wakeup.wait()
        }
    }

    func checkOpen() throws {
        if isClosed { throw DocumentClientError(.closed, "The document client was closed.") }
    }

    /// Wakes the sender and the listeners after a transaction.
    func published() {
        let changed = replica.file.changedPaths
        replica.file.changedPaths = []
        observers.settle(replica.file.outcomes)
        replica.file.outcomes = []
        sendWakeup.set()
        observers.published(changed, replica.journal)
        updateStatus()
    }

    /// Closes the state file. The next client that opens it sends the pending writes. `run` must
    /// have ended.
    public func close() {
        guard !isClosed else { return }
        isClosed = true
        observers.close(DocumentClientError(.closed, "The document client was closed."))
        replica.database.close()
        lock = nil
    }
}
