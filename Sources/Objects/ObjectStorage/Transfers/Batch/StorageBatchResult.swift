/// How the files of a `StorageBatch` fared, each by itself.
public struct StorageBatchResult: Sendable {
    public struct Saved: Sendable {
        public let name: String
        public let result: Result<UploadedFile, ObjectStorageError>
    }

    public struct Deleted: Sendable {
        public let manifest: ContentHash
        /// Nil where it went well.
        public let problem: ObjectStorageError?
    }

    /// In the order of the batch.
    public let saved: [Saved]
    public let deleted: [Deleted]

    public var failureCount: Int {
        saved.count { (try? $0.result.get()) == nil } + deleted.count { $0.problem != nil }
    }
}
