/// One chunk of a file, as the manifest of the file lists it.
public struct ChunkReference: Hashable, Sendable {
    /// The id of the chunk. See `ContentHash.init(ofChunk:)`.
    public let id: ContentHash
    /// The number of bytes of the chunk.
    public let length: Int
    /// The size in bytes of the object that holds the chunk, including the header.
    public let storedLength: Int

    /// Creates a reference.
    public init(id: ContentHash, length: Int, storedLength: Int) {
        self.id = id
        self.length = length
        self.storedLength = storedLength
    }
}
