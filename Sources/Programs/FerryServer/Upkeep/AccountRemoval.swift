import AccessControl
import BucketStore
import CommandLineTool
import DocumentModel
import DocumentStore
import FirestoreServer
import IdentityServer
import ServerData
import Synchronization
import SystemIO
import SystemService

/// Removes the documents and objects of deleted accounts. An interrupted removal continues with the
/// next run.
struct AccountRemoval: Sendable {
    let stores: Stores
    let identity: IdentityService

    private static let batch = 400

    /// Removes the data of every account that was deleted with its data.
    ///
    /// - Parameter renew: Called before each account; throws if another server does the work now.
    func run(renew: @Sendable () throws -> Void = {}) async throws {
        for id in try await identity.accounts.removals() {
            try renew()
            try await stores.catalog.store(stores.catalog.main).removeDocuments(of: id)
            try await removeObjects(of: id)
            try await identity.accounts.finishRemoval(of: id)
        }
    }

    private func removeObjects(of id: String) async throws {
        guard !id.isEmpty, !id.contains("/") else { return }
        let kept = try await ObjectReference.keys(
            of: id, in: stores.catalog.store(stores.catalog.main), manifest: stores.manifest)
        let prefix = "\(id)/"
        let next = Mutex<String?>(prefix)
        while let start = next.withLock({ $0 }) {
            // Files are discarded between the batches, because removing large files inside a batch
            // would delay all other changes.
            let files = try await stores.buckets.index.write { database in
                let removed = try database.removeObjects(
                    below: prefix, in: DataLayout.bucket, from: start, keeping: kept, limit: Self.batch)
                next.withLock { $0 = removed.next }
                return removed.files
            }
            await stores.buckets.discard(files)
        }
    }
}

extension AccountRemoval {
    /// Waits until the running server has removed an account's data, or removes it here if no
    /// server runs.
    static func finish(of id: String, _ arguments: ParsedArguments) async throws {
        let path = try Administration.dataDirectory(arguments)
        let configuration = try ConfigurationReader(arguments).configuration(administering: path)
        while DataDirectory.server(of: path) != nil {
            var rest: [String] = []
            _ = try await Administration.run(arguments, changes: false) { rest = try await $0.accounts.removals() }
            if !rest.contains(id) { return }
            try await Task.sleep(for: .milliseconds(200))
        }
        let directory = try DataDirectory(path: path)
        let stores = try await Stores(directory, configuration, Metrics(), Logger(label: "documents", level: .warning))
        let settings = IdentityService.Configuration(issuer: "", project: "")
        let identity = try await IdentityService(directory: directory.accounts, settings, now: WallClock.seconds)
        do {
            try await AccountRemoval(stores: stores, identity: identity).run()
        } catch {
            await identity.close()
            await stores.close()
            throw error
        }
        await identity.close()
        await stores.close()
    }
}
