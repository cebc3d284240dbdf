import DocumentModel
import DocumentStore
import FirestoreProtocol
import SystemIO

extension FirestoreService {
    func runQuery(_ request: RunQueryRequest, _ caller: Caller, _ send: Send) async throws {
        let store = try await catalog.store(request.query.parent.database)
        if let explain = request.explain, !explain.analyze {
            try await access.check(list: request.query, asOf: nil, in: store, by: caller)
            let metrics = ExplainMetrics(indexes: try await store.plan(request.query, for: caller.account))
            return try await send(RunQueryResponse(explainMetrics: metrics).encoded())
        }
        let start = environment.now()
        let (result, transaction) = try await store.reading(request.consistency, by: caller) { past in
            try await access.check(list: request.query, asOf: past, in: store, by: caller)
        } _: { moment in
            try await store.query(request.query, at: moment, for: caller.account)
        }
        if !transaction.isEmpty { try await send(RunQueryResponse(transaction: transaction).encoded()) }
        var documents = result.documents.makeAsyncIterator()
        var isFirst = true
        var count = 0
        while var page = try await documents.nextPage() {
            count += page.count
            if isFirst, documents.skippedCount > 0 {
                let skipped = RunQueryResponse(
                    readTime: result.readTime, skippedResults: Int32(clamping: documents.skippedCount))
                try await send(skipped.encoded())
            }
            isFirst = false
            // A client may leave a response unread for long, so release each document before it is
            // sent.
            page.reverse()
            while let document = page.popLast() {
                try await send(RunQueryResponse(document: document, readTime: result.readTime).encoded())
            }
        }
        // A query without results gets one response, with its read time.
        if isFirst {
            let empty = RunQueryResponse(
                readTime: result.readTime, skippedResults: Int32(clamping: documents.skippedCount))
            try await send(empty.encoded())
        }
        guard request.explain != nil else { return }
        let metrics = ExplainMetrics(
            indexes: result.indexes, results: count, skipped: documents.skippedCount, documents.statistics,
            took: environment.now() - start)
        try await send(RunQueryResponse(readTime: result.readTime, explainMetrics: metrics).encoded())
    }

    func runAggregationQuery(_ request: RunAggregationQueryRequest, _ caller: Caller, _ send: Send)
        async throws
    {
        let store = try await catalog.store(request.query.parent.database)
        if let explain = request.explain, !explain.analyze {
            try await access.check(list: request.query, asOf: nil, in: store, by: caller)
            let aggregator: Aggregator
            do { aggregator = try Aggregator(request.aggregations, of: request.query) } catch {
                throw DocumentStoreError(.invalidArgument, error.message)
            }
            let metrics = ExplainMetrics(indexes: try await store.plan(aggregator.query, for: caller.account))
            return try await send(RunAggregationQueryResponse(explainMetrics: metrics).encoded())
        }
        let start = environment.now()
        let (result, transaction) = try await store.reading(request.consistency, by: caller) { past in
            try await access.check(list: request.query, asOf: past, in: store, by: caller)
        } _: { moment in
            try await store.aggregate(request.query, request.aggregations, at: moment, for: caller.account)
        }
        var response = RunAggregationQueryResponse(
            results: result.values, transaction: transaction, readTime: result.readTime)
        if request.explain != nil {
            response.explainMetrics = ExplainMetrics(
                indexes: result.indexes, results: 1, skipped: 0, result.statistics, took: environment.now() - start)
        }
        try await send(response.encoded())
    }

    func partitionQuery(_ request: PartitionQueryRequest, _ caller: Caller) async throws -> PartitionQueryResponse {
        try access.checkAdministration(by: caller)
        let store = try await catalog.store(request.query.parent.database)
        let page = try await store.partition(
            request.query, count: request.partitionCount, pageSize: request.pageSize, pageToken: request.pageToken,
            at: request.readTime.map { .at($0) } ?? .strong)
        return PartitionQueryResponse(
            partitions: page.names.map { Query.Cursor([.reference($0.description)], before: true) },
            nextPageToken: page.nextPageToken)
    }
}

extension ExplainMetrics {
    /// Creates the metrics of a query that was only planned.
    init(indexes: [IndexUse]) {
        self.init(
            indexesUsed: indexes.map {
                [
                    "query_scope": .string($0.isCollectionGroup ? "Collection group" : "Collection"),
                    "properties": .string($0.properties),
                ]
            })
    }

    /// Creates the metrics of a query that was run.
    init(indexes: [IndexUse], results: Int, skipped: Int, _ statistics: QueryStatistics, took duration: Duration) {
        self.init(indexes: indexes)
        let (seconds, attoseconds) = duration.components
        executionStats = ExecutionStats(
            resultsReturned: Int64(results),
            executionDuration: DurationMessage(seconds: seconds, nanos: Int32(attoseconds / 1_000_000_000)),
            // As in production: results and skipped results count, and a query without any counts
            // as one read.
            readOperations: Int64(max(1, results + skipped)),
            debugStats: [
                "documents_scanned": .string("\(statistics.documentsScanned)"),
                "index_entries_scanned": .string("\(statistics.entriesScanned)"),
            ])
    }
}
