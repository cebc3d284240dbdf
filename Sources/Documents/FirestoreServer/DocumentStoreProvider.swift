package import DocumentModel
package import DocumentStore

/// Opens the stores of the databases that a server offers.
package protocol DocumentStoreProvider: Sendable {
    /// Returns the store of a database, which is opened if need be.
    ///
    /// - Throws: `DocumentStoreError` with `.notFound` for a database that the server does not offer.
    func store(_ name: DatabaseName) async throws -> any DocumentStore
}
