/// The result of an upload.
public struct UploadedFile: Hashable, Sendable {
    /// The name of the file.
    public let name: String
    /// The type of the content.
    public let type: MIMEType
    /// The size in bytes.
    public let size: Int64
    /// The SHA-256 of the whole content.
    public let sha256: ContentHash
    /// The manifest or the chunk through which the content is found.
    package let content: ContentReference
    /// The number of chunks.
    public let chunkCount: Int
    /// The fingerprints of the chunks, if they were requested.
    package var marks: ChunkFingerprints?

    /// The id of the manifest, with which the file can be downloaded.
    public var manifest: ContentHash { content.id }

    /// Creates a result with a manifest.
    public init(
        name: String, type: MIMEType, size: Int64, sha256: ContentHash, manifest: ContentHash, chunkCount: Int
    ) {
        self.init(
            name: name, type: type, size: size, sha256: sha256, content: .manifest(manifest), chunkCount: chunkCount)
    }

    init(
        name: String, type: MIMEType, size: Int64, sha256: ContentHash, content: ContentReference, chunkCount: Int
    ) {
        self.name = name
        self.type = type
        self.size = size
        self.sha256 = sha256
        self.content = content
        self.chunkCount = chunkCount
    }
}
