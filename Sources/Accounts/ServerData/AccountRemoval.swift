import AccessControl
package import BucketStore
import DocumentStore
package import FirestoreServer
package import IdentityServer
import Synchronization

/// Removes the documents and objects of deleted accounts. An interrupted removal continues with the
/// next run.
package struct AccountRemoval: Sendable {
    private let catalog: DatabaseCatalog
    private let buckets: DirectoryBucketStore
    private let manifest: @Sendable (String) async throws -> [UInt8]?
    private let identity: IdentityService

    private static let batch = 400

    /// - Parameter manifest: Returns the bytes of a manifest among the users' objects; nil if there is none.
    package init(
        catalog: DatabaseCatalog, buckets: DirectoryBucketStore, identity: IdentityService,
        manifest: @escaping @Sendable (String) async throws -> [UInt8]?
    ) {
        (self.catalog, self.buckets, self.manifest, self.identity) = (catalog, buckets, manifest, identity)
    }

    /// Removes the data of every account that was deleted with its data.
    ///
    /// - Parameter renew: Called before each account; throws if another server does the work now.
    package func run(renew: @Sendable () throws -> Void = {}) async throws {
        for id in try await identity.accounts.removals() {
            try renew()
            try await catalog.store(catalog.main).removeDocuments(of: id)
            try await removeObjects(of: id)
            try await identity.accounts.finishRemoval(of: id)
        }
    }

    private func removeObjects(of id: String) async throws {
        guard !id.isEmpty, !id.contains("/") else { return }
        let kept = try await ObjectReference.keys(
            of: id, in: catalog.store(catalog.main), manifest: manifest)
        let prefix = "\(id)/"
        let next = Mutex<String?>(prefix)
        while let start = next.withLock({ $0 }) {
            // Files are discarded between the batches, because removing large files inside a batch
            // would delay all other changes.
            let files = try await buckets.index.write { database in
                let removed = try database.removeObjects(
                    below: prefix, in: DataLayout.bucket, from: start, keeping: kept, limit: Self.batch)
                next.withLock { $0 = removed.next }
                return removed.files
            }
            await buckets.discard(files)
        }
    }
}
