/// What a download has brought.
public struct DownloadedFile: Hashable, Sendable {
    public let path: String
    public let size: Int64
    /// Of the whole content, verified.
    public let sha256: ContentHash
    public let manifest: ContentHash
    /// Of its chunks, where somebody wants to recognise them.
    package var marks: ChunkMarks?

    public init(path: String, size: Int64, sha256: ContentHash, manifest: ContentHash) {
        self.path = path
        self.size = size
        self.sha256 = sha256
        self.manifest = manifest
    }
}
