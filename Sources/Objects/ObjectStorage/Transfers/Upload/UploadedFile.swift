/// What an upload has stored.
public struct UploadedFile: Hashable, Sendable {
    public let name: String
    public let type: MIMEType
    public let size: Int64
    /// Of the whole content.
    public let sha256: ContentHash
    /// The id of the manifest, by which the file is downloaded again.
    public let manifest: ContentHash
    public let chunkCount: Int

    public init(
        name: String, type: MIMEType, size: Int64, sha256: ContentHash, manifest: ContentHash, chunkCount: Int
    ) {
        self.name = name
        self.type = type
        self.size = size
        self.sha256 = sha256
        self.manifest = manifest
        self.chunkCount = chunkCount
    }
}
