package import DocumentModel
package import DocumentStore
package import FirestoreProtocol

/// Decides what callers may read and write.
///
/// Each check throws `DocumentStoreError.permissionDenied` for what is not allowed. A read of a
/// past moment, `past`, must be allowed by the documents of that moment and by those of now.
package protocol DocumentAccessPolicy: Sendable {
    /// Checks a read of documents by name, by what it found: `documents` has the same order, and
    /// nil for a document that does not exist.
    func check(
        get names: [DocumentName], _ documents: [EncodedDocument?], in store: any DocumentStore, by caller: Caller
    ) async throws

    /// Checks a read of documents by name ahead of it.
    func check(
        get names: [DocumentName], asOf past: Timestamp?, in store: any DocumentStore, by caller: Caller
    ) async throws

    /// Checks whether every document that the query can find may be read.
    func check(list query: Query, asOf past: Timestamp?, in store: any DocumentStore, by caller: Caller) async throws

    /// Checks whether what the query finds from now on may be read and, with `past`, the names of what it found then.
    func check(
        watched query: Query, asOf past: Timestamp?, in store: any DocumentStore, by caller: Caller
    ) async throws

    /// Checks whether all documents and collections below a parent may be listed.
    func check(
        listing parent: ParentName, asOf past: Timestamp?, in store: any DocumentStore, by caller: Caller
    ) async throws

    /// Checks whether the caller is an administrator.
    func checkAdministration(by caller: Caller) throws

    /// Whether no document decides about the query, so that what is allowed now stays allowed.
    func allowsForEver(_ query: Query, by caller: Caller) throws -> Bool

    /// Checks writes before they are tried, without a lock, and returns the check of the commit itself.
    func review(
        _ writes: [Write], in store: any DocumentStore, by caller: Caller
    ) async throws -> any CommitReview
}

/// The check of one commit.
package protocol CommitReview: Sendable {
    /// Decides by what the commit found and would leave.
    ///
    /// Called on the store's writer, once for each time that the commit, or a write of a batch, is
    /// tried. It must be quick and must not wait.
    func check(_ commit: borrowing ProposedCommit) throws

    /// Ends the review. Called once, after the commit was stored or refused.
    func end()
}
