package import DocumentModel
import FirestoreProtocol

/// A document store on an engine with snapshots and a log of replaced versions.
///
/// The engine provides snapshots, a writer, and the times at which reads are possible. The
/// extensions of this protocol provide queries, listings, transactions and listeners.
package protocol SnapshotStore: DocumentStore {
    associatedtype Readers: SnapshotReaders

    var epoch: [UInt8] { get }
    /// The times at which this history may have had commits that were lost; see `DocumentDatabaseFile.takeOver`.
    var gap: ClosedRange<Int64>? { get }
    var transactions: TransactionRegistry { get }
    var hub: ListenHub { get }
    var readers: Readers { get }
    /// The maximum number of commits that wait for a slow listener; later ones are read from the
    /// log.
    var listenerBacklog: Int { get }

    /// Returns a read time for a snapshot that contains all commits up to `visible`.
    func readTime(visible: Int64) -> Int64
    /// A time for an event that happens now, without a guarantee relative to commits.
    var wallTime: Int64 { get }

    /// Ensures that no commit after this call gets a time up to `time`, and that all commits up to
    /// it are visible. Throws for a time in the future.
    func prepareReading(at time: Int64) async throws
    /// Waits for the commits that may have been admitted before a transaction acquired its locks.
    func awaitAdmittedCommits() async throws
    /// Waits until listeners of this store have been notified of all commits that were acknowledged
    /// before, by this or another server.
    func catchUp() async throws
    /// Applies a commit that is not of a read-only transaction.
    func write(
        _ writes: [Write], transaction: TransactionID?, at position: StreamPosition?, guarding: CommitGuard?
    ) async throws -> CommitResult
    /// Retries the commits that wait for the locks of a transaction that has ended.
    func retryWaiting(for transaction: TransactionID)
}

extension SnapshotStore {
    package var gap: ClosedRange<Int64>? { nil }
}

/// The snapshots of an engine.
package protocol SnapshotReaders: Sendable {
    /// Runs `body` with a snapshot.
    ///
    /// - Parameters:
    ///   - names: the documents that the read gets, if it takes no longer than waking a thread; nil for any
    ///     other read. Such a read must not plan a query.
    ///   - account: the account that reads, and for whose queries an index may be suggested; nil
    ///     for the operator.
    ///   - damage: the handling of documents that cannot be read, if `names` is nil.
    ///   - body: receives the snapshot and the time of its newest commit.
    func read<Result: Sendable>(
        ofFew names: [DocumentName]?, for account: String?, damage: DamageHandling,
        _ body: @escaping @Sendable (_ snapshot: any StoreSnapshot, _ visible: Int64) throws -> Result
    ) async throws -> Result
}

extension SnapshotReaders {
    func read<Result: Sendable>(
        for account: String? = nil, damage: DamageHandling = .fails,
        _ body: @escaping @Sendable (_ snapshot: any StoreSnapshot, _ visible: Int64) throws -> Result
    ) async throws -> Result {
        try await read(ofFew: nil, for: account, damage: damage, body)
    }
}

// MARK: Writing

extension SnapshotStore {
    package func commit(
        _ writes: [Write], transaction: TransactionID?, guarding: CommitGuard?
    ) async throws -> CommitResult {
        try Task.checkCancellation()
        for write in writes { try DocumentStoreError.checkDatabase(write.name.database, is: database) }
        if let transaction, try transactions.kind(of: transaction) == .readOnly {
            return try await commitReadOnly(transaction, isEmpty: writes.isEmpty)
        }
        return try await write(writes, transaction: transaction, at: nil, guarding: guarding)
    }

    package func commit(
        _ writes: [Write], at position: StreamPosition, guarding: CommitGuard?
    ) async throws -> CommitResult {
        try Task.checkCancellation()
        for write in writes { try DocumentStoreError.checkDatabase(write.name.database, is: database) }
        return try await write(writes, transaction: nil, at: position, guarding: guarding)
    }

    private func commitReadOnly(_ transaction: TransactionID, isEmpty: Bool) async throws -> CommitResult {
        try transactions.checkOpen(transaction)
        transactions.end(transaction)
        guard isEmpty else { throw DocumentStoreError.readOnlyTransaction }
        return try await write([], transaction: nil, at: nil, guarding: nil)
    }

    package func batchWrite(
        _ writes: [Write], guarding: CommitGuard?
    ) async throws -> [Result<WriteResult, DocumentStoreError>] {
        guard Set(writes.map(\.name)).count == writes.count else {
            throw DocumentStoreError(
                .invalidArgument, "the same document cannot be written more than once in a single request")
        }
        return await withTaskGroup(of: (Int, Result<WriteResult, DocumentStoreError>).self) { group in
            for (index, write) in writes.enumerated() {
                group.addTask {
                    do {
                        let commit = try await self.commit([write], transaction: nil, guarding: guarding)
                        return (index, .success(commit.writeResults.first ?? WriteResult(updateTime: nil)))
                    } catch {
                        return (index, .failure(DocumentStoreError(error)))
                    }
                }
            }
            var results = [Result<WriteResult, DocumentStoreError>](
                repeating: .failure(.closed), count: writes.count)
            for await (index, result) in group { results[index] = result }
            return results
        }
    }

    package func documentCount(of owner: String) async throws -> Int64 {
        try await read(at: .strong) { snapshot, _, _ in try snapshot.documentCount(of: owner) }
    }

    package func deleteAllDocuments() async throws {
        let everything = Query(
            parent: ParentName(database), collectionID: nil, allDescendants: true, projection: [.documentName])
        var documents = try await query(everything).documents.makeAsyncIterator()
        while let page = try await documents.nextPage() {
            _ = try await commit(page.map { Write(.delete($0.name)) })
        }
    }
}

// MARK: Transactions and listeners

extension SnapshotStore {
    package func beginTransaction(
        _ options: TransactionOptions, for account: String?
    ) async throws -> TransactionID {
        switch options {
        case .readWrite(let retry):
            return try transactions.beginReadWrite(for: account, retry: retry, wallTime: wallTime)
        case .readOnly(let time):
            let moment: ReadMoment = time.map { .at($0) } ?? .strong
            let readTime = try await read(at: moment) { _, _, time in time }
            return try transactions.beginReadOnly(for: account, at: readTime)
        }
    }

    package func readTime(of transaction: TransactionID) async throws -> Timestamp? {
        guard try transactions.kind(of: transaction) == .readOnly else { return nil }
        return Timestamp(microseconds: try transactions.readTime(transaction))
    }

    package func rollback(_ transaction: TransactionID) async throws {
        try transactions.rollBack(transaction)
        retryWaiting(for: transaction)
    }

    package func resumeTime(of token: [UInt8]) -> Timestamp? { ListenMachine.time(of: token, epoch: epoch) }

    package func listen(for account: String?) -> any ListenStream {
        SnapshotListenStream(store: self, account: account)
    }

    package func lineage(having seen: Timestamp?) async throws -> String {
        let epoch = epoch
        return try await readers.read { snapshot, _ in
            StoreLineage.words(epoch, without: try snapshot.hasCommit(at: seen?.microseconds) ? nil : seen)
        }
    }
}
