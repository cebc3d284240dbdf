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
    var currentTargets: Set<Int32> = []
    var targetUses: [Int32: Int] = [:]
    /// The targets that the remote may refuse to watch.
    var optionalTargets: Set<Int32> = []
    /// The optional targets that the remote has refused on the present stream.
    var refusedOptionalTargets: Set<Int32> = []
    var missing: [DocumentName] = []
    var lastHeard: Duration
    // Watchers
    var listeners: [Int: QueryListener] = [:]
    var nextListener = 0
    var changeWaiters: [Int: AsyncSignal] = [:]
    var settleWaiters: [(position: Int64, continuation: CheckedContinuation<Void, any Error>)] = []
    var status = ClientStatus()
    var lastStatus = ClientStatus()
    var statusStreams: [Int: AsyncStream<ClientStatus>.Continuation] = [:]
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
        let file = try SQLiteDatabase(path: path, configuration: configuration)
        let id = options.replicaID.isEmpty ? DocumentID.make(in: options.environment) : options.replicaID
        let replica = try Replica(
            database: file, databaseName: database, replicaID: id, policies: options.policies,
            receipt: options.receipt, repairs: options.repairs, clock: options.environment.wallClock)
        if let identity = options.remoteIdentity, let known = try replica.bindRemote(identity) {
            status.connection = .otherRemote("The state belongs to \(known), but the remote is \(identity).")
        }
        self.replica = replica
        self.remote = remote
        self.options = options
        environment = options.environment
        lastHeard = environment.now()
        status.pendingCount = replica.journal.count - replica.journal.parkedCount
        status.parkedCount = replica.journal.parkedCount
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
        let result = try replica.transaction(waitingForDisk: waitingForDisk) {
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
        let wakeup = AsyncSignal()
        let id = nextListener
        nextListener += 1
        changeWaiters[id] = wakeup
        defer { changeWaiters[id] = nil }
        while try replica.changes(after: sequence, limit: 1).isEmpty {
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
        let changed = replica.changedPaths
        replica.changedPaths = []
        sendWakeup.set()
        if !changed.isEmpty {
            for id in listeners.keys {
                listeners[id]?.note(changed)
                listeners[id]?.wakeup.set()
            }
            for waiter in changeWaiters.values { waiter.set() }
        }
        settle()
        updateStatus()
    }

    private func settle() {
        settleWaiters.removeAll { waiter in
            guard replica.journal.isSettled(through: waiter.position) else { return false }
            waiter.continuation.resume()
            return true
        }
    }

    /// Closes the state file. The next client that opens it sends the pending writes. `run` must
    /// have ended.
    public func close() {
        guard !isClosed else { return }
        isClosed = true
        let error = DocumentClientError(.closed, "The document client was closed.")
        for waiter in settleWaiters { waiter.continuation.resume(throwing: error) }
        settleWaiters = []
        for listener in listeners.values { listener.wakeup.set() }
        for waiter in changeWaiters.values { waiter.set() }
        for stream in statusStreams.values { stream.finish() }
        statusStreams = [:]
        replica.database.close()
    }
}
