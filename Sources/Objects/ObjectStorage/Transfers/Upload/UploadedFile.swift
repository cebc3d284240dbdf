/// What an upload has stored.
public struct UploadedFile: Hashable, Sendable {
    public let name: String
    public let type: MIMEType
    public let size: Int64
    /// Of the whole content.
    public let sha256: ContentHash
    /// How the content is found again.
    package let content: ContentReference
    public let chunkCount: Int
    /// Of its chunks, where somebody wants to recognise them.
    package var marks: ChunkMarks?

    /// The id of the manifest, by which the file is downloaded again.
    public var manifest: ContentHash { content.id }

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
