package import DocumentModel
package import FirestoreProtocol

/// A remote document database, as far as a replica needs it. Everything thrown is a `RemoteError` or `CancellationError`.
package protocol RemoteDocuments: Sendable {
    /// Applies all writes in order, or none. A transient error leaves open whether it did.
    func commit(_ writes: [Write]) async throws -> CommitResult

    /// One consistent view of the documents, in any order; `nil` for what does not exist.
    func documents(_ names: [DocumentName]) async throws -> RemoteRead

    /// The results in the query's order.
    func results(of query: Query) async throws -> [EncodedDocument]

    /// Opens a stream for these targets.
    /// - Parameter seen: the newest commit that the remote is known to have had; its lineage depends on whether it still has it.
    func listen(_ targets: [RemoteTarget], seen: Timestamp?) async throws -> any RemoteListen

    /// The next call connects without waiting for the end of an earlier failure's delay.
    func networkChanged()
}

extension RemoteDocuments {
    package func networkChanged() {}
}

/// An open listen stream. One task at a time may read it, while another changes its targets; a failure shows to the reader.
package protocol RemoteListen: Sendable {
    /// The next message; nil when the remote ended the stream. After `close` it throws or answers nil.
    nonisolated(nonsending) func next() async throws -> RemoteEvent?

    func add(_ target: RemoteTarget) async
    func remove(_ target: Int32) async
    func close()
}

/// Documents as they were at one time.
package struct RemoteRead: Sendable, Hashable {
    package var found: [EncodedDocument]
    package var missing: [DocumentName]
    package var readTime: Timestamp

    package init(found: [EncodedDocument], missing: [DocumentName], readTime: Timestamp) {
        self.found = found
        self.missing = missing
        self.readTime = readTime
    }
}
