package import DocumentModel
package import DocumentStore

/// A source of the stores of a server's databases.
package protocol DocumentStoreProvider: Sendable {
    /// Returns the store of a database, and opens it if necessary.
    ///
    /// - Throws: `DocumentStoreError` with `.notFound` for a database that the server does not offer.
    func store(_ name: DatabaseName) async throws -> any DocumentStore
}
