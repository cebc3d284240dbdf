import DocumentClient
import DocumentCoding
import DocumentModel
public import FoundationEssentials
import ObjectStorage
import Synchronization
import SystemIO

/// An app's documents: on this machine at once and without a network, and in step with a server.
///
///     let ferry = try await Ferry.open(.ferry(url), state: directory)
///     try await ferry.account.signInAnonymously()
///     let tasks = ferry.collection(Item.self)
///     let milk = try await tasks.add(Item(title: "Buy milk"))
///     for try await snapshot in tasks.all.snapshots { show(snapshot) }
///
/// Writes are durable when the call returns. They are sent in the background, and again after each
/// interruption, also by the next run of the program.
public final class Ferry: Sendable {
    private struct State {
        var session: Session?
        var isClosed = false
    }

    /// The signed-in account.
    public let account: Account
    private let backend: (any Backend)?
    private let directory: String
    private let policies = MergingPolicies()
    private let state = Mutex(State())
    private let reports = Broadcast(Status())
    /// Why a model cannot be merged as it wants.
    private let modelProblem = Mutex<(any Error)?>(nil)

    private init(backend: (any Backend)?, directory: String) {
        self.backend = backend
        self.directory = directory
        account = Account(service: backend?.accounts)
    }

    /// Used for references in examples of models, which are never read.
    static let example = Ferry(backend: nil, directory: "")

    /// Opens the state of an app, and begins to exchange changes with the server.
    ///
    /// Works without a network once the server has been reached for the first time.
    ///
    /// - Parameters:
    ///   - server: the server on which the documents are.
    ///   - state: a directory, which is created if necessary. It belongs to this object alone until
    ///     `close`.
    ///   - models: models with rules for merging. A model that is not given here is known from its
    ///     first use, and changes of an earlier run may be merged before that.
    /// - Throws: `FerryError`.
    public static func open(
        _ server: Server, state: URL, models: [any DocumentModel.Type] = []
    ) async throws -> Ferry {
        try await FerryError.translating {
            let directory = state.path
            do { try FileSystem.makeDirectories(directory, mode: 0o700) } catch {
                throw FerryError(.storage, "The directory \(directory) cannot be made: \(error)", cause: error)
            }
            let ferry = Ferry(backend: try server.makeBackend(directory), directory: directory)
            for model in models { ferry.register(model) }
            await ferry.account.attach(to: ferry)
            try await ferry.startSession()
            return ferry
        }
    }

    /// Stops all exchange and closes the state. What was not sent is sent after the next `open`.
    public func close() async {
        let session = state.withLock { state in
            state.isClosed = true
            return state.session.take()
        }
        await session?.close()
        reports.finish()
    }

    deinit {
        guard let session = state.withLock({ $0.session.take() }) else { return }
        Task { await session.close() }
    }

    // MARK: Documents

    /// Returns a collection at the top of the database.
    public func collection<Model: DocumentModel>(
        _ type: Model.Type = Model.self
    ) -> DocumentCollection<Model> where Model.Parent == Never {
        register(type)
        return DocumentCollection(owner: self, path: Model.collection)
    }

    /// Returns the query for all documents of a model, below whichever documents they are.
    public func group<Model: DocumentModel>(_ type: Model.Type = Model.self) -> Query<Model> {
        register(type)
        return Query(owner: self, place: .group)
    }

    /// Returns the reference to the document with a path.
    ///
    /// - Throws: `FerryError` with `invalid` if it is not the path of a document of the model.
    public func reference<Model: DocumentModel>(
        to path: String, as type: Model.Type = Model.self
    ) throws -> Reference<Model> {
        register(type)
        return try Reference(path, in: self)
    }

    /// Writes several documents, all together or not at all.
    @discardableResult public nonisolated(nonsending) func batch(
        _ body: (inout Batch) throws -> Void
    ) async throws -> Write {
        if let problem = modelProblem.withLock({ $0 }) { throw FerryError.describing(problem) }
        let session = try session
        var batch = Batch(ferry: self, session: session)
        try body(&batch)
        if let problem = batch.problem { throw FerryError.describing(problem) }
        let (mutations, edits) = (batch.mutations, batch.edits)
        return try await FerryError.translating {
            Write(
                handle: try await session.client.write(
                    mutations, edits: edits, asOne: mutations.count + edits.count > 1))
        }
    }

    /// Runs a closure until its writes could be committed on the documents that it read, at most 5
    /// times. Needs a connection.
    ///
    /// - Throws: the error of `body`; `FerryError` with `contention`, `offline` or `notAllowed`.
    public func transaction<Result: Sendable>(
        _ body: @Sendable (Transaction) async throws -> Result
    ) async throws -> Result {
        let session = try session
        return try await FerryError.translating {
            try await session.client.runTransaction { transaction in
                try await body(Transaction(transaction, ferry: self, session: session))
            }
        }
    }

    /// Returns when everything that was written before is on the server or refused.
    public func waitForPendingWrites() async throws {
        let session = try session
        try await FerryError.translating { try await session.client.waitForPendingWrites() }
    }

    /// The content of files, and the transfers of this machine.
    public var files: Files { Files(ferry: self) }

    // MARK: State

    /// The state of the connection now, and again whenever it changes.
    public var statuses: AsyncStream<Status> { reports.stream }

    /// The present state of the connection.
    public var status: Status { reports.latest }

    /// The writes that the server refuses, oldest first. Each is kept until it is retried or
    /// discarded; a new write of the same document retries it, too.
    public var refusals: [Refusal] {
        get async throws {
            let session = try session
            return try await FerryError.translating {
                try await session.client.pendingMutations(parkedOnly: true).map {
                    Refusal(
                        id: $0.id, path: $0.mutation.name.path, reason: $0.parkedReason ?? "", client: session.client)
                }
            }
        }
    }

    /// Reports that the network has returned, so that the server is tried at once.
    public func networkChanged() async { await state.withLock { $0.session }?.networkChanged() }

    // MARK: Sessions

    /// The documents of the signed-in account.
    var session: Session {
        get throws {
            try state.withLock { state in
                if state.isClosed { throw FerryError(.closed, "The Ferry was closed.") }
                guard let session = state.session else {
                    throw FerryError(
                        .notSignedIn, "Nobody is signed in. Sign in with Ferry.account, for example anonymously.")
                }
                return session
            }
        }
    }

    /// The database; nil before an account is signed in.
    var database: DatabaseName? { backend == nil ? DatabaseName(project: "example") : try? session.database }

    func register<Model: DocumentModel>(_ type: Model.Type) {
        do { try policies.register(type) } catch { modelProblem.withLock { $0 = $0 ?? error } }
    }

    /// Opens the documents of the account that is signed in, if there is one, in place of those
    /// before.
    func startSession() async throws {
        await state.withLock { $0.session.take() }?.close()
        guard let backend else { return }
        let userID = await backend.accounts?.current?.id
        guard backend.accounts == nil || userID != nil else {
            var status = Status()
            status.connection = .needsSignIn
            return reports.send(status)
        }
        let session = try await makeSession(userID: userID, objects: try await backend.objects())
        let isOpen = state.withLock { state in
            if !state.isClosed { state.session = session }
            return !state.isClosed
        }
        let reports = reports
        session.start { reports.send($0) }
        if !isOpen { await session.close() }
    }

    /// Opens the documents of an account, without any exchange with the server.
    func makeSession(userID: String?, objects: (any ObjectStore)?) async throws -> Session {
        let connection = try await connect()
        guard let database = await backend?.database else {
            throw FerryError(.offline, "The server has not said which database it has.")
        }
        let directory = directory(of: userID)
        do { try FileSystem.makeDirectories(directory, mode: 0o700) } catch {
            throw FerryError(.storage, "The directory \(directory) cannot be made: \(error)", cause: error)
        }
        return try await Session(
            userID: userID, database: database, connection: connection, objects: objects, directory: directory,
            policies: policies)
    }

    /// Returns a connection for the account that is signed in.
    func connect() async throws -> RemoteConnection {
        guard let backend else { throw FerryError(.closed, "The Ferry has no server.") }
        return try await backend.connect()
    }

    /// Ends the use of the documents of the present account; see `startSession`. The session itself
    /// stays open.
    func detachSession() { state.withLock { $0.session = nil } }

    /// Returns the queries for all documents of a user.
    func queriesOfDocuments(ofUser id: String, in database: DatabaseName) -> [DatabaseQuery] {
        policies.known.sorted { $0.id < $1.id }.map {
            DatabaseQuery(
                parent: ParentName(database), collectionID: $0.id, allDescendants: !$0.isTop,
                filter: .field(FieldPath(key: "userId"), .equal, .string(id)))
        }
    }

    /// Removes the documents of an account from this machine.
    func erase(userID: String) throws { try FileSystem.removeTree(directory(of: userID)) }

    private func directory(of userID: String?) -> String {
        // Ids of accounts are letters and digits; others are made so.
        let name = userID.map { "user-" + $0.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" } } ?? "all"
        return "\(directory)/\(name)"
    }
}
