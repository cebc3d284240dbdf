/// What one account may hold of a server at a time.
///
/// A request beyond a limit is refused with RESOURCE_EXHAUSTED and a message that names the limit; other accounts are
/// served meanwhile. The operator, who has no account, is not limited.
package struct AccountLimits: Sendable, Hashable {
    /// Open transactions, read-only ones included.
    package var transactions = 100
    /// Documents that one read-write transaction has read.
    package var transactionDocuments = 10_000
    /// Different queries that one read-write transaction has run.
    package var transactionQueries = 1000
    /// Bytes that the reads of all of an account's open transactions take in memory.
    package var transactionBytes = 10 << 20
    /// Commits that wait for the locks of transactions.
    package var waitingCommits = 100
    /// Reads in progress: queries, aggregations, listings, and batches of gets.
    package var reads = 100
    /// Commits in progress.
    package var commits = 500
    /// Open Listen streams.
    package var listenStreams = 100
    /// Targets of all Listen streams together.
    package var listenTargets = 5000
    /// Bytes that the queries and names of these targets take in memory.
    package var listenBytes = 16 << 20
    /// Open Write streams.
    package var writeStreams = 100
    /// Composite indexes of a collection that were made for an account's queries.
    package var compositeIndexes = 4

    package init() {}
}

extension DocumentStoreError {
    /// A refusal at a limit: `resource` with its unit, as in "open transactions", and what the caller can do.
    package static func limitReached(_ limit: Int, _ resource: String, remedy: String) -> DocumentStoreError {
        DocumentStoreError(
            .resourceExhausted, "This account has reached its limit of \(limit) \(resource). \(remedy)")
    }
}
