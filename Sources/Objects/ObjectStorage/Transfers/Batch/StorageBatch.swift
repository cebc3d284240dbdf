import Synchronization
import SystemIO

/// Several files to save and to delete, with one progress and one result. What fails keeps nothing else from its end.
///
///     var batch = StorageBatch()
///     batch.save(photo)
///     batch.delete(oldManifest)
///     let task = batch.task(in: store, namespace: namespace)
///     task.start()
///     print(try await task.outcome.failureCount)
public struct StorageBatch: Sendable {
    private var files: [File] = []
    private var manifests: [ContentHash] = []

    public init() {}

    public mutating func save(_ file: File) { files.append(file) }

    /// Deletes a manifest. Its chunks may belong to other files too and are left to the collection of garbage.
    public mutating func delete(_ manifest: ContentHash) { manifests.append(manifest) }

    /// A task that does all of it. After a pause it goes on with what is not done.
    public func task(
        in store: any ObjectStore, namespace: ObjectNamespace, compression: CompressionPolicy = .automatic,
        spool: String = "/var/tmp"
    ) -> TransferTask<StorageBatchResult> {
        let limiter = LimitedObjectStore(store)
        let upload = Upload(
            store: limiter, namespace: namespace, policy: compression, sizes: .standard, ledger: MemoryLedger(),
            budget: .shared)
        let run = StorageBatchRun(
            upload: upload, sources: files.map { ($0, UploadSource($0, spool: spool)) }, manifests: manifests)
        let sizes = files.compactMap(\.size)
        return TransferTask(
            name: "\(files.count + manifests.count) files", direction: .up,
            total: sizes.count == files.count ? sizes.reduce(0) { $0.saturatingAdded(to: $1) } : nil,
            work: TransferWork {
                try await run.run($0)
            } clean: {
                run.discard()
            }, limiter: limiter)
    }
}
