package import DocumentModel
package import FirestoreProtocol

/// One database of documents: the engine behind `google.firestore.v1.Firestore`, with one method
/// per RPC.
///
/// Commits have a total order, given by strictly increasing commit times. A read sees the database
/// at one point in time. A strong read sees every commit that was acknowledged before it began. A
/// read at a time sees all commits up to and including that time, and repeating it always gives the
/// same result. Every method throws `DocumentStoreError`, or `CancellationError` if its task was
/// cancelled before anything was done.
package protocol DocumentStore: Sendable {
    var database: DatabaseName { get }

    /// Applies all writes in order, or none. Returns when the commit is durable.
    ///
    /// With a transaction, ends the transaction, also if an error is thrown. Without one, waits for
    /// the locks of the account's own transactions. Transactions of other accounts that have read
    /// what the commit changes are aborted.
    ///
    /// - Parameter guarding: decides inside the transaction, after the preconditions were checked,
    ///   whether the commit is allowed; nil for the operator, who is not restricted.
    func commit(_ writes: [Write], transaction: TransactionID?, guarding: CommitGuard?) async throws -> CommitResult

    /// Applies writes as `commit` without a transaction does, exactly once for each position.
    ///
    /// If a commit was already applied at the position, also by an earlier process, its result is
    /// returned and nothing is applied. Positions are remembered for as long as the history is
    /// kept.
    func commit(_ writes: [Write], at position: StreamPosition, guarding: CommitGuard?) async throws -> CommitResult

    /// Applies each write separately, in no defined order. Returns one result per write. No
    /// document may occur twice.
    func batchWrite(_ writes: [Write], guarding: CommitGuard?) async throws -> [Result<WriteResult, DocumentStoreError>]

    /// Reads documents of one moment, one entry a name in the same order; nil for a missing one.
    /// - Parameter byteLimit: the number of bytes of fields that closes the result. The names
    ///   behind the document that reaches it have no entry.
    func get(_ names: [DocumentName], at moment: ReadMoment, byteLimit: Int) async throws -> GetResult

    /// Starts a query. Its documents are read on demand, all at one point in time.
    ///
    /// - Parameter account: the account for whose queries the store may create an index, of which
    ///   each account has a limited number; nil for the operator. The same applies to the methods
    ///   below.
    func query(_ query: Query, at moment: ReadMoment, for account: String?) async throws -> QueryResult

    /// Returns the indexes that a query would read now, without running it. Empty if it reads none.
    func plan(_ query: Query, for account: String?) async throws -> [IndexUse]

    /// Returns counts, sums, and averages over a query's results by alias (`field_1` … for an empty
    /// alias).
    func aggregate(
        _ query: Query, _ aggregations: [Query.Aggregation], at moment: ReadMoment, for account: String?
    ) async throws -> AggregateResult

    /// Returns a page of a collection's documents.
    func list(_ listing: DocumentListing, at moment: ReadMoment, for account: String?) async throws -> DocumentPage

    /// Returns a page of the ids of the collections below `parent` that contain a document,
    /// directly or at a deeper level.
    func listCollectionIDs(
        parent: ParentName, pageSize: Int32, pageToken: String, at moment: ReadMoment
    ) async throws -> CollectionIDPage

    /// Returns a page of at most `count` positions at which a collection group query ordered by
    /// name can be split into parts of about equal size.
    ///
    /// - Parameter pageSize: the maximum number of positions; 0 for all.
    func partition(
        _ query: Query, count: Int64, pageSize: Int32, pageToken: String, at moment: ReadMoment
    ) async throws -> PartitionPage

    /// Begins a transaction.
    ///
    /// - Parameter account: the account that may use the transaction; nil for the operator.
    func beginTransaction(_ options: TransactionOptions, for account: String?) async throws -> TransactionID

    /// Returns the time at which a read-only transaction reads; nil for a read-write transaction.
    func readTime(of transaction: TransactionID) async throws -> Timestamp?

    /// Ends a transaction without writes.
    func rollback(_ transaction: TransactionID) async throws

    /// Opens a stream of listen targets.
    func listen(for account: String?) -> any ListenStream

    /// Returns the time up to which everything had been reported when a resume token was issued;
    /// nil for a token of another history or of no store.
    func resumeTime(of token: [UInt8]) -> Timestamp?

    /// Returns the identity of the history that this store continues, for a client that knows of
    /// the commit at `seen`.
    ///
    /// The result stays the same as long as the store has everything that it ever acknowledged. It
    /// changes after the store was restored to an earlier state: from a backup or, as far as the
    /// log shows it, from a plain copy of its file.
    func lineage(having seen: Timestamp?) async throws -> String

    /// Returns the number of documents that a user owns: those whose field `userId` is the user's
    /// id, and those without this field below them.
    func documentCount(of owner: String) async throws -> Int64

    /// Deletes every document. Listeners are notified of the deletes.
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
