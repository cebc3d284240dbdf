import Synchronization
import SystemIO

/// Several files to upload and manifests to delete, with one progress and one result. A failure
/// does not stop the others.
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

    /// Creates an empty batch.
    public init() {}

    /// Adds a file to upload.
    public mutating func save(_ file: File) { files.append(file) }

    /// Adds a manifest to delete. Its chunks may belong to other files too and are left to garbage
    /// collection.
    public mutating func delete(_ manifest: ContentHash) { manifests.append(manifest) }

    /// Creates a task that does all of the batch. After a pause it continues with the rest.
    ///
    /// - Parameters:
    ///   - compression: How chunks are compressed.
    ///   - spool: The directory for temporary files of streams.
    public func task(
        in store: any ObjectStore, namespace: ObjectNamespace, compression: CompressionPolicy = .automatic,
        spool: String = "/var/tmp"
    ) -> TransferTask<StorageBatchResult> {
        let limiter = LimitedObjectStore(store)
        var options = UploadOptions()
        options.compression = compression
        let upload = Upload(
            store: limiter, namespace: namespace, options: options, ledger: MemoryLedger(), budget: .shared)
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
