/// The first 16 bytes of every chunk object:
///
///     offset  length  meaning
///     0       4       "FRYC"
///     4       1       version, 1
///     5       1       codec: 0 raw, 1 zlib (RFC 1950)
///     6       2       zero
///     8       8       length of the raw bytes, big-endian
///
/// The stored form of the chunk follows, up to the end of the object.
public struct ChunkHeader: Hashable, Sendable {
    /// The encoding of the bytes after the header.
    public enum Codec: UInt8, Sendable {
        /// The bytes of the chunk as they are.
        case raw = 0
        /// A zlib stream (RFC 1950).
        case zlib = 1
    }

    /// The length of a header in bytes.
    public static let byteCount = 16

    static let magic: [UInt8] = Array("FRYC".utf8)
    static let version: UInt8 = 1

    /// The encoding of the chunk.
    public var codec: Codec
    /// The length of the chunk in bytes, before compression.
    public var rawLength: Int

    /// Creates a header.
    public init(codec: Codec, rawLength: Int) {
        self.codec = codec
        self.rawLength = rawLength
    }

    /// Reads the header at the start of a complete chunk object.
    ///
    /// Throws `.corrupt` if the object has no valid header, and `.invalid` for a version or a codec
    /// that this program does not know.
    public init(of object: [UInt8]) throws(ObjectStorageError) {
        guard object.count >= Self.byteCount, object.starts(with: Self.magic), object[6] == 0, object[7] == 0 else {
            throw ObjectStorageError(.corrupt, "a chunk object does not begin with a chunk header")
        }
        guard object[4] == Self.version, let codec = Codec(rawValue: object[5]) else {
            throw ObjectStorageError(
                .invalid,
                "a chunk object has format version \(object[4]), codec \(object[5]), which this program does not know; "
                    + "a newer ferry wrote it, so update this one")
        }
        let length = object[8..<16].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        guard let rawLength = Int(exactly: length) else {
            throw ObjectStorageError(.corrupt, "a chunk object announces an impossible length")
        }
        self.init(codec: codec, rawLength: rawLength)
    }

    /// The encoded header.
    public var bytes: [UInt8] {
        let length = UInt64(rawLength)
        return Self.magic + [Self.version, codec.rawValue, 0, 0]
            + stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: length >> UInt64($0)) }
    }
}
