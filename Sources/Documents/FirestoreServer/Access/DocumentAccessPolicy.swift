package import DocumentModel
package import DocumentStore
package import FirestoreProtocol

/// The decision about what callers may read and write.
///
/// Each check throws `DocumentStoreError.permissionDenied` for an access that is not allowed. A
/// read as of a past time, `past`, must be allowed both by the documents of that time and by the
/// current ones.
package protocol DocumentAccessPolicy: Sendable {
    /// Checks a read of documents by name after the read.
    ///
    /// - Parameter documents: The documents that were found, in the order of `names`; nil for one
    ///   that does not exist.
    func check(
        get names: [DocumentName], _ documents: [EncodedDocument?], in store: any DocumentStore, by caller: Caller
    ) async throws

    /// Checks a read of documents by name before the read.
    func check(
        get names: [DocumentName], asOf past: Timestamp?, in store: any DocumentStore, by caller: Caller
    ) async throws

    /// Checks that every document that the query can find may be read.
    func check(list query: Query, asOf past: Timestamp?, in store: any DocumentStore, by caller: Caller) async throws

    /// Checks that the future results of the query may be read and, with `past`, the names of its
    /// results at that time.
    func check(
        watched query: Query, asOf past: Timestamp?, in store: any DocumentStore, by caller: Caller
    ) async throws

    /// Checks that all documents and collections below a parent may be listed.
    func check(
        listing parent: ParentName, asOf past: Timestamp?, in store: any DocumentStore, by caller: Caller
    ) async throws

    /// Checks that the caller is an administrator.
    func checkAdministration(by caller: Caller) throws

    /// Whether the decision about the query depends on no document, so that a query that is allowed
    /// now stays allowed.
    func allowsForEver(_ query: Query, by caller: Caller) throws -> Bool

    /// Checks writes before they are tried, without holding a lock, and returns the check of the
    /// commit itself.
    func review(
        _ writes: [Write], in store: any DocumentStore, by caller: Caller
    ) async throws -> any CommitReview
}

/// The check of a commit.
package protocol CommitReview: Sendable {
    /// Checks the documents that the commit has found and those that it would leave.
    ///
    /// Called on the store's writer, once for each time that the commit or a write of a batch is
    /// tried. It must be quick and must not block.
    func check(_ commit: borrowing ProposedCommit) throws

    /// Ends the review. Called once, after the commit was stored or refused.
    func end()
}
