package import DocumentModel
package import FirestoreProtocol

/// One database of documents: the engine behind `google.firestore.v1.Firestore`, one method per RPC.
///
/// Commits have one order, given by strictly increasing commit times. A read is of one moment: a strong read sees every
/// commit that was acknowledged before it began, a read at a time sees the commits up to and including that time, and a
/// time that was handed out never changes its content. Every method throws `DocumentStoreError`, or
/// `CancellationError` when its task was cancelled before anything was done.
package protocol DocumentStore: Sendable {
    var database: DatabaseName { get }

    /// Applies all writes in order, or none. Returns when the commit is durable.
    ///
    /// With a transaction, ends it, also by an error. Without, waits for the locks of the account's own transactions. Those of
    /// other accounts that read what it changes are aborted.
    /// - Parameter guarding: decides inside the transaction, after the preconditions held, whether the commit may be; nil
    ///   for the operator, who may do everything.
    func commit(_ writes: [Write], transaction: TransactionID?, guarding: CommitGuard?) async throws -> CommitResult

    /// As `commit` without a transaction, once for each position: a commit that was applied there before, also by an earlier
    /// process, is answered as it was then and not applied again. Positions are known for as long as the history is kept.
    func commit(_ writes: [Write], at position: StreamPosition, guarding: CommitGuard?) async throws -> CommitResult

    /// Applies each write on its own, in no promised order; one answer a write. No document may occur twice.
    func batchWrite(_ writes: [Write], guarding: CommitGuard?) async throws -> [Result<WriteResult, DocumentStoreError>]

    /// Reads documents of one moment, one entry a name in the same order; nil for a missing one.
    /// - Parameter byteLimit: the number of bytes of fields that closes the result. The names behind the document that reaches it
    ///   have no entry.
    func get(_ names: [DocumentName], at moment: ReadMoment, byteLimit: Int) async throws -> GetResult

    /// Starts a query. Its documents are read as they are asked for, all of one moment.
    /// - Parameter account: here and below: for whose queries the store may make an index, of which an account has a limited
    ///   number; nil for the operator.
    func query(_ query: Query, at moment: ReadMoment, for account: String?) async throws -> QueryResult

    /// The indexes that a query would read now; empty where it reads none. Nothing is run.
    func plan(_ query: Query, for account: String?) async throws -> [IndexUse]

    /// Counts, sums, and averages over a query's results, keyed by alias (`field_1` … where one is empty).
    func aggregate(
        _ query: Query, _ aggregations: [Query.Aggregation], at moment: ReadMoment, for account: String?
    ) async throws -> AggregateResult

    /// A page of a collection's documents.
    func list(_ listing: DocumentListing, at moment: ReadMoment, for account: String?) async throws -> DocumentPage

    /// A page of the ids of the collections below `parent` that hold a document, directly or deeper.
    func listCollectionIDs(
        parent: ParentName, pageSize: Int32, pageToken: String, at moment: ReadMoment
    ) async throws -> CollectionIDPage

    /// A page of the at most `count` places where a collection group query ordered by name can be split into parts of about
    /// equal size.
    /// - Parameter pageSize: 0 for all of them.
    func partition(
        _ query: Query, count: Int64, pageSize: Int32, pageToken: String, at moment: ReadMoment
    ) async throws -> PartitionPage

    /// - Parameter account: who may use the transaction; nil for the operator.
    func beginTransaction(_ options: TransactionOptions, for account: String?) async throws -> TransactionID

    /// The moment that a read-only transaction reads; nil for a read-write transaction.
    func readTime(of transaction: TransactionID) async throws -> Timestamp?

    /// Ends a transaction without writes.
    func rollback(_ transaction: TransactionID) async throws

    /// Opens a stream of listen targets.
    func listen(for account: String?) -> any ListenStream

    /// The time up to which the stream that a resume token is from was told everything; nil for a token of another history, or
    /// of no store.
    func resumeTime(of token: [UInt8]) -> Timestamp?

    /// Names the line of commits that this store goes on with, for a client that knows of the commit at `seen`: the same words
    /// as long as the store has everything that it ever answered, others once it was put back to an earlier state. That is a
    /// backup's, or, as far as the log tells, that of a mere copy of its file.
    func lineage(having seen: Timestamp?) async throws -> String

    /// How many documents a user owns: those whose field `userId` is the user's id, and those without such a field below them.
    func documentCount(of owner: String) async throws -> Int64

    /// Deletes every document; what listeners held is deleted for them too.
    func deleteAllDocuments() async throws
}

extension DocumentStore {
    package func commit(_ writes: [Write]) async throws -> CommitResult {
        try await commit(writes, transaction: nil, guarding: nil)
    }

    /// Begins a transaction of the operator.
    package func beginTransaction(_ options: TransactionOptions) async throws -> TransactionID {
        try await beginTransaction(options, for: nil)
    }

    package func get(_ names: [DocumentName], at moment: ReadMoment) async throws -> GetResult {
        try await get(names, at: moment, byteLimit: .max)
    }

    package func get(_ name: DocumentName, at moment: ReadMoment = .strong) async throws -> EncodedDocument? {
        try await get([name], at: moment).documents.first ?? nil
    }

    package func query(_ query: Query, at moment: ReadMoment = .strong) async throws -> QueryResult {
        try await self.query(query, at: moment, for: nil)
    }

    package func plan(_ query: Query) async throws -> [IndexUse] { try await plan(query, for: nil) }

    package func aggregate(
        _ query: Query, _ aggregations: [Query.Aggregation], at moment: ReadMoment
    ) async throws -> AggregateResult {
        try await aggregate(query, aggregations, at: moment, for: nil)
    }

    package func list(_ listing: DocumentListing, at moment: ReadMoment) async throws -> DocumentPage {
        try await list(listing, at: moment, for: nil)
    }

    package func listen() -> any ListenStream { listen(for: nil) }
}
