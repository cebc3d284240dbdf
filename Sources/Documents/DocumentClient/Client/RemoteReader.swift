package import DocumentModel
import FirestoreProtocol

/// Reads from the remote what a replica need not have, and keeps it there.
package struct RemoteReader: Sendable {
    private let client: DocumentDatabase
    private let remote: any RemoteDocuments

    package init(_ client: DocumentDatabase) {
        self.client = client
        remote = client.remote
    }

    /// Reads a document.
    ///
    /// - Returns: The document as the replica has it afterwards, with local changes applied.
    /// - Throws: `RemoteError`.
    package func document(_ name: DocumentName) async throws -> DocumentSnapshot {
        let answer = try await remote.documents([name])
        try await client.keep(answer.found, missing: answer.missing, at: answer.readTime)
        return try await client.document(name)
    }

    /// Reads the results of a query.
    ///
    /// - Returns: The results in the query's order, with local changes applied.
    /// - Throws: `RemoteError`; `DocumentClientError` with `invalid`.
    package func documents(_ query: Query) async throws -> [DocumentSnapshot] {
        let plan = try await client.plan(query)
        let (names, readTime) = try await fetch(plan)
        // Older local documents that the remote did not return are no results any more. It may have
        // received a local change after it had looked for the results.
        return try await client.reading { local in
            try local.replica.reader.results(of: plan) { document in
                names.contains(document.name) || document.hasPendingWrites
                    || document.updateTime.map { $0 > readTime } ?? false
            }
        }
    }

    /// The maximum number of requests for the results of one query.
    private static let requestLimit = 100

    /// Fetches the results that the remote has, and those behind them while local changes may take
    /// documents out of the results.
    ///
    /// Each further request asks for twice as many. Where the remote's rules refuse that
    /// (`request.query.limit`), requests have the query's own limit. Where they refuse that, too, or
    /// after 100 requests, fewer results are known.
    private func fetch(_ plan: QueryPlan) async throws -> (names: Set<DocumentName>, readTime: Timestamp) {
        var request = plan.query
        // Documents that an offset skips are needed, because local changes decide which ones.
        let wanted = request.limit.map { Int32(clamping: Int($0) + Int(request.offset)) }
        (request.limit, request.offset) = (wanted, 0)
        // The distance would be taken for a field of the document.
        request.findNearest?.distanceResultField = nil
        var (names, readTime, unchanged) = (Set<DocumentName>(), Timestamp(microseconds: .max), 0)
        var (isFirst, mayExceed) = (true, true)
        for _ in 0..<Self.requestLimit {
            let answer: RemoteRead
            do { answer = try await remote.results(of: request) } catch let error as RemoteError
                where error.code == .permission
            {
                if let own = plan.query.limit, let asked = request.limit, asked > own {
                    (request.limit, mayExceed) = (own, false)
                    continue
                }
                if isFirst { throw error }
                break
            }
            isFirst = false
            try await client.keep(answer.found, missing: [], at: nil)
            readTime = min(readTime, answer.readTime)
            let known = names.count
            names.formUnion(answer.found.map(\.name))
            let paths = answer.found.map(\.name.path)
            unchanged += try await client.reading { local in
                paths.count { local.replica.file.journal.sequences(of: $0).isEmpty }
            }
            // As many unchanged documents as are wanted are in front of everything that is not known.
            guard let own = plan.query.limit, let wanted, let asked = request.limit, answer.found.count >= asked,
                unchanged < wanted, names.count > known, request.findNearest == nil, let last = answer.found.last
            else { break }
            request = try Self.following(last, plan, mayExceed ? Int32(clamping: 2 * Int(asked)) : own)
        }
        return (names, readTime)
    }

    /// Returns the query for the results after a document.
    private static func following(_ last: EncodedDocument, _ plan: QueryPlan, _ limit: Int32) throws -> Query {
        var next = plan.query
        (next.offset, next.limit, next.orders) = (0, limit, plan.orders)
        let fields = try last.fields.decoded()
        next.start = Query.Cursor(
            plan.orders.map { order in
                order.path.isDocumentName
                    ? .reference(last.name.description) : fields.value(at: order.path.segments[...]) ?? .null
            }, before: false)
        return next
    }

    /// Returns values that the remote computes over the results of a query, by their aliases. Local
    /// changes that it has not received do not count.
    ///
    /// - Throws: `RemoteError`.
    package func aggregates(_ aggregations: [Query.Aggregation], of query: Query) async throws -> [String: Value] {
        try await remote.aggregates(aggregations, of: query)
    }
}

extension DocumentDatabase {
    /// Whether the remote has once reported all results of a query to this replica.
    package func hasResults(of query: Query) throws -> Bool {
        try checkOpen()
        return try !replica.target(for: query).resumeToken.isEmpty
    }

    /// Takes documents over that were read from the remote.
    func keep(_ found: [EncodedDocument], missing: [DocumentName], at readTime: Timestamp?) async throws {
        try checkOpen()
        var items = found.map { Boundary.Item.changed($0, added: [], removed: []) }
        items += missing.map { .deleted($0, readTime: readTime) }
        try await handle(try replica.keep(items))
        published()
    }
}
