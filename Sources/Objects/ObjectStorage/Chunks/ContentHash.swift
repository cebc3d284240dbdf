package import Cryptography

/// The SHA-256 of some content, which is also its name in the store: of a chunk, of a manifest or of a file.
public struct ContentHash: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let digest: SHA256Digest

    package init(_ digest: SHA256Digest) { self.digest = digest }

    /// Nil unless the text is 64 hexadecimal digits.
    public init?(hex: some StringProtocol) {
        guard let digest = SHA256Digest(hex: hex) else { return nil }
        self.digest = digest
    }

    /// Nil unless there are 32 bytes.
    public init?(bytes: some Collection<UInt8>) {
        guard let digest = SHA256Digest(bytes: bytes) else { return nil }
        self.digest = digest
    }

    /// The hash of `content`.
    public init(of content: [UInt8]) { digest = SHA256.hash(content) }

    /// The id of a chunk: the hash of the object that holds it raw, header and bytes. So where a chunk is stored raw, its
    /// id is at once what the store is told to check.
    public init(ofChunk chunk: ArraySlice<UInt8>) {
        var hash = SHA256()
        ChunkHeader(codec: .raw, rawLength: chunk.count).bytes.withUnsafeBytes { hash.update($0) }
        chunk.withUnsafeBytes { hash.update($0) }
        digest = hash.finish()
    }

    public var bytes: [UInt8] { digest.bytes }

    /// 64 lowercase hexadecimal digits.
    public var hex: String { digest.hex }

    /// The first eight digits, for logs.
    public var short: String { String(digest.hex.prefix(8)) }

    public var description: String { hex }

    public static func < (left: Self, right: Self) -> Bool { left.digest < right.digest }
}

extension SHA256 {
    /// Takes the content of an object that holds a chunk raw.
    mutating func addContent(ofChunk object: [UInt8]) { update(object.dropFirst(ChunkHeader.byteCount)) }
}
