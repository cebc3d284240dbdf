/// The resources of the server that one account may use at a time.
///
/// A request beyond a limit is refused with RESOURCE_EXHAUSTED and a message that names the limit.
/// Other accounts are not affected. The operator, who has no account, is not limited.
package struct AccountLimits: Sendable, Hashable {
    /// The maximum number of open transactions, including read-only ones.
    package var transactions = 100
    /// The maximum number of documents read by one read-write transaction.
    package var transactionDocuments = 10_000
    /// The maximum number of different queries run by one read-write transaction.
    package var transactionQueries = 1000
    /// The maximum size in memory of the reads of all open transactions of the account, in bytes.
    package var transactionBytes = 10 << 20
    /// The maximum number of commits that wait for the locks of transactions.
    package var waitingCommits = 100
    /// The maximum number of reads in progress: queries, aggregations, listings, and batches of
    /// gets.
    package var reads = 100
    /// The maximum number of commits in progress.
    package var commits = 500
    /// The maximum size of all requests in progress of more than 256 KiB, in bytes. Decoded, one may
    /// take many times its size.
    package var largeRequestBytes = 10 << 20
    /// The maximum number of open Listen streams.
    package var listenStreams = 100
    /// The maximum number of targets of all Listen streams together.
    package var listenTargets = 5000
    /// The maximum size in memory of the queries and names of these targets, in bytes.
    package var listenBytes = 16 << 20
    /// The maximum number of open Write streams.
    package var writeStreams = 100
    /// The maximum number of composite indexes of a collection created for an account's queries.
    package var compositeIndexes = 4

    package init() {}
}

extension DocumentStoreError {
    /// Returns the error for a request beyond a limit.
    ///
    /// - Parameters:
    ///   - resource: the resource with its unit, for example "open transactions".
    ///   - remedy: what the caller can do.
    package static func limitReached(_ limit: Int, _ resource: String, remedy: String) -> DocumentStoreError {
        DocumentStoreError(
            .resourceExhausted, "This account has reached its limit of \(limit) \(resource). \(remedy)")
    }
}
