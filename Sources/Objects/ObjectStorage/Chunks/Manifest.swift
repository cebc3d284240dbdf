import JSON

/// What a file consists of: the chunks in order, the size and the SHA-256 of the whole. It knows no name, so that the
/// same content attached twice has one manifest.
///
/// It is stored as JSON without white space, which fixes its bytes; their SHA-256 is its id:
///
///     {"version":1,"size":5,"sha256":"<hex>","chunks":[["<hex>",<length>,<stored length>],…]}
public struct Manifest: Hashable, Sendable {
    /// The longest manifest that is read: enough for about 700,000 chunks, or 700 GiB.
    public static let byteLimit = 64 << 20
    /// A file of more bytes may have more chunks than a manifest takes.
    public static let fileLimit: Int64 = 640 << 30
    /// The longest chunk that a manifest may list, and so the most that one object can inflate to.
    public static let chunkLimit = 16 << 20

    private static let version: Int64 = 1

    public let size: Int64
    public let sha256: ContentHash
    public let chunks: [ChunkReference]

    public init(sha256: ContentHash, chunks: [ChunkReference]) {
        self.size = chunks.reduce(0) { $0 + Int64($1.length) }
        self.sha256 = sha256
        self.chunks = chunks
    }

    /// Throws `.corrupt` for what is no manifest or contradicts itself, `.invalid` for a newer version.
    public init(parsing bytes: [UInt8]) throws(ObjectStorageError) {
        guard bytes.count <= Self.byteLimit, let json = try? JSON(parsing: bytes, depth: 4) else {
            throw Self.corrupt("it is no JSON of a sensible length")
        }
        guard let version = json["version"]?.integerValue else { throw Self.corrupt("it has no version") }
        guard version == Self.version else {
            throw ObjectStorageError(
                .invalid,
                "a manifest has version \(version); this program knows \(Self.version), so update it")
        }
        guard let size = json["size"]?.integerValue, let hash = json["sha256"]?.stringValue,
            let sha256 = ContentHash(hex: hash), let list = json["chunks"]?.arrayValue
        else { throw Self.corrupt("size, sha256 or chunks are missing") }
        var chunks: [ChunkReference] = []
        chunks.reserveCapacity(list.count)
        var total: Int64 = 0
        for entry in list {
            guard let chunk = Self.chunk(entry) else { throw Self.corrupt("entry \(chunks.count) is no chunk") }
            // Cannot overflow: both the number of entries and the length of each are limited.
            total += Int64(chunk.length)
            chunks.append(chunk)
        }
        guard total == size else {
            throw Self.corrupt("its chunks make \(total) bytes and its size says \(size)")
        }
        self.size = size
        self.sha256 = sha256
        self.chunks = chunks
    }

    /// The canonical form, which is what is stored.
    public var bytes: [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(160 + chunks.count * 88)
        text += "{\"version\":\(Self.version),\"size\":\(size),\"sha256\":\"\(sha256.hex)\",\"chunks\":[".utf8
        for (index, chunk) in chunks.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            text += "[\"\(chunk.id.hex)\",\(chunk.length),\(chunk.storedLength)]".utf8
        }
        text += "]}".utf8
        return text
    }

    /// The SHA-256 of `bytes`.
    public var id: ContentHash { ContentHash(of: bytes) }

    private static func chunk(_ json: JSON) -> ChunkReference? {
        guard let fields = json.arrayValue, fields.count == 3,
            let hash = fields[0].stringValue, let id = ContentHash(hex: hash),
            let length = fields[1].integerValue, (1...Int64(chunkLimit)).contains(length),
            let stored = fields[2].integerValue,
            (Int64(ChunkHeader.byteCount)...length + Int64(ChunkHeader.byteCount)).contains(stored)
        else { return nil }
        return ChunkReference(id: id, length: Int(length), storedLength: Int(stored))
    }

    private static func corrupt(_ reason: String) -> ObjectStorageError {
        ObjectStorageError(.corrupt, "a manifest is damaged: \(reason)")
    }
}
