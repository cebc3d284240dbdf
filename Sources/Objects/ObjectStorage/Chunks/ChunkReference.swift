/// One chunk of a file, as its manifest lists it.
public struct ChunkReference: Hashable, Sendable {
    /// See `ContentHash.init(ofChunk:)`.
    public let id: ContentHash
    /// Of the raw bytes.
    public let length: Int
    /// Of the object that holds the chunk, header included.
    public let storedLength: Int

    public init(id: ContentHash, length: Int, storedLength: Int) {
        self.id = id
        self.length = length
        self.storedLength = storedLength
    }
}
