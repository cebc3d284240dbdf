/// The outcome of each file of a `StorageBatch`.
public struct StorageBatchResult: Sendable {
    /// The outcome of an upload.
    public struct Saved: Sendable {
        /// The name of the file.
        public let name: String
        /// The uploaded file, or why the upload failed.
        public let result: Result<UploadedFile, ObjectStorageError>
    }

    /// The outcome of a deletion.
    public struct Deleted: Sendable {
        /// The id of the manifest.
        public let manifest: ContentHash
        /// The reason why the deletion failed; nil if it succeeded.
        public let problem: ObjectStorageError?
    }

    /// The uploads in the order of the batch.
    public let saved: [Saved]
    /// The deletions in the order of the batch.
    public let deleted: [Deleted]

    /// The number of files and manifests that failed.
    public var failureCount: Int {
        saved.count { (try? $0.result.get()) == nil } + deleted.count { $0.problem != nil }
    }
}
