package import Cryptography

/// The SHA-256 hash of some content: of a chunk, of a manifest or of a file. Objects are named by
/// it.
public struct ContentHash: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let digest: SHA256Digest

    package init(_ digest: SHA256Digest) { self.digest = digest }

    /// Parses 64 hexadecimal digits; nil for any other text.
    public init?(hex: some StringProtocol) {
        guard let digest = SHA256Digest(hex: hex) else { return nil }
        self.digest = digest
    }

    /// Creates a hash from its 32 bytes; nil for any other number of bytes.
    public init?(bytes: some Collection<UInt8>) {
        guard let digest = SHA256Digest(bytes: bytes) else { return nil }
        self.digest = digest
    }

    /// Computes the hash of `content`.
    public init(of content: [UInt8]) { digest = SHA256.hash(content) }

    /// Computes the id of a chunk: the hash of the object that holds it raw, with the header. For a
    /// chunk that is stored raw, the id is therefore also the hash that the store checks on upload.
    public init(ofChunk chunk: ArraySlice<UInt8>) {
        var hash = SHA256()
        ChunkHeader(codec: .raw, rawLength: chunk.count).bytes.withUnsafeBytes { hash.update($0) }
        chunk.withUnsafeBytes { hash.update($0) }
        digest = hash.finish()
    }

    /// The 32 bytes of the hash.
    public var bytes: [UInt8] { digest.bytes }

    /// The 64 lowercase hexadecimal digits.
    public var hex: String { digest.hex }

    /// The first eight digits, for logs.
    public var short: String { String(digest.hex.prefix(8)) }

    /// The 64 lowercase hexadecimal digits.
    public var description: String { hex }

    /// Orders hashes by their bytes.
    public static func < (left: Self, right: Self) -> Bool { left.digest < right.digest }
}

extension SHA256 {
    /// Adds the bytes of the chunk in an object that holds it raw.
    mutating func addContent(ofChunk object: [UInt8]) { update(object.dropFirst(ChunkHeader.byteCount)) }
}
