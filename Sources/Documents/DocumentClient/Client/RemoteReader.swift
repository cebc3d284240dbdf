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
        let answer = try await remote.results(
            of: try await client.reading { try $0.replica.reader.extendedQuery(of: plan) })
        try await client.keep(answer.found, missing: [], at: nil)
        // Older local documents that the remote did not return are no results any more. It may have
        // received a local change after it had looked for the results.
        let names = Set(answer.found.map(\.name))
        var unlimited = query
        (unlimited.offset, unlimited.limit) = (0, nil)
        let results = try await client.documents(unlimited).lazy.filter { document in
            names.contains(document.name) || document.hasPendingWrites
                || document.updateTime.map { $0 > answer.readTime } ?? false
        }
        let rest = results.dropFirst(Int(query.offset))
        return query.limit.map { Array(rest.prefix(Int($0))) } ?? Array(rest)
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
