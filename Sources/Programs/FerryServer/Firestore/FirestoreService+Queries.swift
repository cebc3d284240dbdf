import DocumentModel
import DocumentStore
import FirestoreProtocol
import GRPC

extension FirestoreService {
    func runQuery(_ request: RunQueryRequest, _ caller: Caller, _ call: GRPCServerCall) async throws {
        let store = try await catalog.store(request.query.parent.database)
        try await access.check(list: request.query, in: store, by: caller)
        let consistency = try await Consistency(request.consistency, store)
        let result = try await store.query(request.query, at: consistency.moment)
        var transaction = consistency.transaction
        if !transaction.isEmpty {
            try await call.send(RunQueryResponse(transaction: transaction).encoded())
            transaction = []
        }
        var documents = result.documents.makeAsyncIterator()
        var isFirst = true
        while let page = try await documents.nextPage() {
            if isFirst, documents.skippedCount > 0 {
                let skipped = RunQueryResponse(
                    readTime: result.readTime, skippedResults: Int32(clamping: documents.skippedCount))
                try await call.send(skipped.encoded())
            }
            isFirst = false
            for document in page {
                try await call.send(RunQueryResponse(document: document, readTime: result.readTime).encoded())
            }
        }
        // A query without results is answered by one response with its time.
        if isFirst {
            let empty = RunQueryResponse(
                readTime: result.readTime, skippedResults: Int32(clamping: documents.skippedCount))
            try await call.send(empty.encoded())
        }
    }

    func runAggregationQuery(_ request: RunAggregationQueryRequest, _ caller: Caller, _ call: GRPCServerCall)
        async throws
    {
        let store = try await catalog.store(request.query.parent.database)
        try await access.check(list: request.query, in: store, by: caller)
        let consistency = try await Consistency(request.consistency, store)
        let result = try await store.aggregate(request.query, request.aggregations, at: consistency.moment)
        let response = RunAggregationQueryResponse(
            results: result.values, transaction: consistency.transaction, readTime: result.readTime)
        try await call.send(response.encoded())
    }

    func partitionQuery(_ request: PartitionQueryRequest, _ caller: Caller) async throws -> PartitionQueryResponse {
        try access.checkAdministration(by: caller)
        let store = try await catalog.store(request.query.parent.database)
        let names = try await store.partition(
            request.query, count: request.partitionCount, at: request.readTime.map { .at($0) } ?? .strong)
        return PartitionQueryResponse(
            partitions: names.map { Query.Cursor([.reference($0.description)], before: true) })
    }
}
