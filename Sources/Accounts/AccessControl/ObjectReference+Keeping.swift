import DocumentModel
package import DocumentStore
import FirestoreProtocol
import ObjectStorage

extension ObjectReference {
    /// Returns the keys of an account's objects that tasks, and the history below them, reference.
    /// Once the account's own tasks are removed, these are the attachments that it has added to
    /// lists of others.
    ///
    /// A task can only have a reference to an object that its owner may read.
    ///
    /// - Parameter manifest: Returns the bytes of a manifest by its key, or nil if there is none.
    package static func keys(
        of account: String, in store: any DocumentStore, manifest: (String) async throws -> [UInt8]?
    ) async throws -> Set<String> {
        var references: Set<ObjectReference> = []
        for collection in ["tasks", "history"] {
            let query = Query(
                parent: ParentName(store.database), collectionID: collection, allDescendants: collection == "history")
            for try await document in try await store.query(query).documents {
                guard document.name.isAmongTasks else { continue }
                references.formUnion(all(in: try document.fields.decoded()) { $0.owner == account })
            }
        }
        var keys = Set(references.map(\.key))
        for reference in references where reference.isManifest {
            guard let bytes = try await manifest(reference.key), ContentHash(of: bytes) == reference.hash,
                let manifest = try? Manifest(parsing: bytes)
            else { continue }
            keys.formUnion(
                manifest.chunks.map { ObjectReference(owner: account, isManifest: false, hash: $0.id).key })
        }
        return keys
    }
}
