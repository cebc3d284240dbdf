/// The result of a download.
public struct DownloadedFile: Hashable, Sendable {
    /// The path of the file.
    public let path: String
    /// The size in bytes.
    public let size: Int64
    /// The SHA-256 of the content, which was verified.
    public let sha256: ContentHash
    /// The id of the manifest, or of the only chunk of a file without one.
    public let manifest: ContentHash
    /// The fingerprints of the chunks, if they were requested.
    package var marks: ChunkFingerprints?

    /// Creates a result.
    public init(path: String, size: Int64, sha256: ContentHash, manifest: ContentHash) {
        self.path = path
        self.size = size
        self.sha256 = sha256
        self.manifest = manifest
    }
}
