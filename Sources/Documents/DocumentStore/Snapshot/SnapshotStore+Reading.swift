package import DocumentModel
import FirestoreProtocol
import Synchronization

extension SnapshotStore {
    /// Runs `body` with a snapshot for the given moment. `visible` is the snapshot's newest commit,
    /// `time` the read time. If they differ, newer versions must be ignored, also because they may
    /// not be on disk yet.
    ///
    /// - Parameters:
    ///   - locking: the documents and queries that a read-write transaction is about to read.
    ///   - names: see `SnapshotReaders.read`.
    func read<Result: Sendable>(
        at moment: ReadMoment, locking: (documents: [DocumentName], queries: [LockTable.LockedQuery]) = ([], []),
        ofFew names: [DocumentName]? = nil, for account: String? = nil,
        _ body: @escaping @Sendable (_ snapshot: any StoreSnapshot, _ visible: Int64, _ time: Int64) throws -> Result
    ) async throws -> Result {
        switch moment {
        case .strong:
            return try await readNow(names, account, body)
        case .at(let time):
            try await prepareReading(at: time.microseconds)
            return try await read(at: time.microseconds, names, account, body)
        case .transaction(let id):
            switch try transactions.kind(of: id) {
            case .readOnly: return try await read(at: try transactions.readTime(id), names, account, body)
            case .readWrite:
                try transactions.lock(id, documents: locking.documents, queries: locking.queries)
                try await awaitAdmittedCommits()
                return try await readNow(names, account, body)
            }
        }
    }

    private func readNow<Result: Sendable>(
        _ names: [DocumentName]?, _ account: String?,
        _ body: @escaping @Sendable (_ snapshot: any StoreSnapshot, _ visible: Int64, _ time: Int64) throws -> Result
    ) async throws -> Result {
        try await readers.read(ofFew: names, for: account, damage: .fails) { snapshot, visible in
            try body(snapshot, visible, readTime(visible: visible))
        }
    }

    private func read<Result: Sendable>(
        at time: Int64, _ names: [DocumentName]?, _ account: String?,
        _ body: @escaping @Sendable (_ snapshot: any StoreSnapshot, _ visible: Int64, _ time: Int64) throws -> Result
    ) async throws -> Result {
        try await readers.read(ofFew: names, for: account, damage: .fails) { snapshot, visible in
            try snapshot.checkHorizon(time)
            return try body(snapshot, visible, time)
        }
    }

    // MARK: Documents

    /// The number of documents up to which a get completes faster than another thread could start
    /// it.
    private static var shortGet: Int { 16 }

    package func get(_ names: [DocumentName], at moment: ReadMoment, byteLimit: Int) async throws -> GetResult {
        for name in names { try DocumentStoreError.checkDatabase(name.database, is: database) }
        return try await read(at: moment, locking: (names, []), ofFew: names.count <= Self.shortGet ? names : nil) {
            snapshot, visible, time in
            snapshot.prefetch(names[...])
            let documents = try names.documents(within: byteLimit) { name in
                visible <= time ? try snapshot.document(name) : try snapshot.document(name, at: time)
            }
            return GetResult(documents: documents, readTime: Timestamp(microseconds: time))
        }
    }

    // MARK: Queries

    package func query(
        _ query: Query, at moment: ReadMoment, for account: String?
    ) async throws -> QueryResult {
        let plan = try checked(query)
        let locking = [LockTable.LockedQuery(plan)]
        let (start, first, page) = try await read(at: moment, locking: ([], locking), for: account) {
            snapshot, visible, time in
            let start = QueryExecution(plan: plan, readTime: time)
            var execution = start
            let page = try execution.nextPage(in: snapshot, visible: visible)
            return (start, execution, page)
        }
        let readers = readers
        let kept = FirstPage(of: first, page)
        let documents = QueryDocuments {
            var execution = start
            var isFirst = true
            return {
                if isFirst {
                    isFirst = false
                    if let (next, page) = kept.take() {
                        execution = next
                        return page
                    }
                }
                let current = execution
                let (next, page) = try await readers.read(for: account) { snapshot, visible in
                    try snapshot.checkHorizon(current.readTime)
                    var next = current
                    let page = try next.nextPage(in: snapshot, visible: visible)
                    return (next, page)
                }
                execution = next
                return page
            }
        }
        return QueryResult(
            readTime: Timestamp(microseconds: first.readTime), documents: documents,
            indexes: first.accessPath?.indexes(for: query) ?? [])
    }

    package func plan(_ query: Query, for account: String?) async throws -> [IndexUse] {
        let plan = try checked(query)
        return try await readers.read(for: account) { snapshot, _ in
            try QueryPlanner(plan: plan, snapshot: snapshot).accessPath().indexes(for: query)
        }
    }

    package func aggregate(
        _ query: Query, _ aggregations: [Query.Aggregation], at moment: ReadMoment, for account: String?
    ) async throws -> AggregateResult {
        let empty: Aggregator
        do { empty = try Aggregator(aggregations, of: query) } catch { throw DocumentStoreError(error) }
        let plan = try checked(empty.query)
        let locking = [LockTable.LockedQuery(plan)]
        return try await read(at: moment, locking: ([], locking), for: account) { snapshot, visible, time in
            var aggregator = empty
            var execution = QueryExecution(plan: plan, readTime: time)
            var statistics = QueryStatistics()
            while !aggregator.isComplete {
                let page = try execution.nextPage(in: snapshot, visible: visible)
                statistics += page.statistics
                if aggregator.countsOnly {
                    aggregator.add(count: Int64(page.documents.count))
                } else {
                    for document in page.documents { aggregator.add(try Document(document)) }
                }
                if page.isLast { break }
            }
            return AggregateResult(
                values: aggregator.results(), readTime: Timestamp(microseconds: time),
                indexes: execution.accessPath?.indexes(for: query) ?? [], statistics: statistics)
        }
    }

    func checked(_ query: Query) throws(DocumentStoreError) -> QueryPlan {
        try DocumentStoreError.checkDatabase(query.parent.database, is: database)
        do { return try QueryPlan(query) } catch { throw DocumentStoreError(error) }
    }
}

/// The page that a query has read when it starts. The first iteration takes it, so that it is gone
/// once it is consumed; later ones read it again.
private final class FirstPage: Sendable {
    private let page: Mutex<(QueryExecution, QueryPage)?>

    init(of execution: QueryExecution, _ page: QueryPage) {
        self.page = Mutex((execution, page))
    }

    func take() -> (QueryExecution, QueryPage)? {
        page.withLock { page in
            defer { page = nil }
            return page
        }
    }
}

extension [DocumentName] {
    /// Returns what `read` finds for the names, up to the document with which there are `byteLimit` bytes of fields.
    func documents<E: Error>(
        within byteLimit: Int, _ read: (DocumentName) throws(E) -> EncodedDocument?
    ) throws(E) -> [EncodedDocument?] {
        var documents: [EncodedDocument?] = []
        documents.reserveCapacity(count)
        var bytes = 0
        for name in self where bytes < byteLimit {
            let document = try read(name)
            bytes += document?.fields.bytes.count ?? 0
            documents.append(document)
        }
        return documents
    }
}
