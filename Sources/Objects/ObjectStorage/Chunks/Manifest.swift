import JSON
import SystemIO

/// The content of a file: its size, its SHA-256 and its chunks in order. A manifest does not
/// contain the name of the file, so the same content has the same manifest wherever it is attached.
///
/// It is stored as JSON without white space, which makes its bytes canonical. The id of the
/// manifest is the SHA-256 of these bytes:
///
///     {"version":1,"size":5,"sha256":"<hex>","chunks":[["<hex>",<length>,<stored length>],…]}
public struct Manifest: Hashable, Sendable {
    /// The maximum number of bytes of a manifest. It allows about 700,000 chunks, or 700 GiB.
    public static let byteLimit = 64 << 20
    /// The maximum size of a file in bytes. A manifest of a larger file might exceed `byteLimit`.
    public static let fileLimit: Int64 = 640 << 30
    /// The maximum length of a chunk in a manifest, and therefore the maximum number of bytes to
    /// which one object can decompress.
    public static let chunkLimit = 16 << 20

    /// The maximum number of bytes of one entry: two quotation marks, two brackets, three commas, a
    /// hash, and two lengths of at most eight digits.
    static let entryLimit = 88
    /// The maximum number of bytes of a manifest without its entries.
    static let frameLimit = 160

    private static let version: Int64 = 1

    /// The size of the file in bytes.
    public let size: Int64
    /// The SHA-256 of the file.
    public let sha256: ContentHash
    /// The chunks in order.
    public let chunks: [ChunkReference]

    /// Creates a manifest. Its size is the sum of the lengths of the chunks.
    public init(sha256: ContentHash, chunks: [ChunkReference]) {
        self.size = chunks.reduce(0) { $0 + Int64($1.length) }
        self.sha256 = sha256
        self.chunks = chunks
    }

    /// Parses a manifest.
    ///
    /// Throws `.corrupt` if the bytes are no manifest or contradict each other, and `.invalid` for
    /// a newer version. The bytes are untrusted: they come from another device or account. They are
    /// parsed without a tree of JSON values, which would need several times their memory.
    public init(parsing bytes: [UInt8]) throws(ObjectStorageError) {
        guard bytes.count <= Self.byteLimit else { throw Self.corrupt("it is longer than any can be") }
        var parts = Parts()
        do throws(JSONError) {
            try JSONReader.read(bytes, depth: 4) { (reader) throws(JSONError) in try parts.read(&reader) }
        } catch {
            throw Self.corrupt("it is not JSON of the right form")
        }
        guard let version = parts.version else { throw Self.corrupt("it has no version") }
        guard version == Self.version else {
            throw ObjectStorageError(
                .invalid,
                "a manifest has version \(version); this program knows \(Self.version), so update it")
        }
        guard let size = parts.size, let sha256 = parts.sha256, let chunks = parts.chunks else {
            throw Self.corrupt("size, sha256 or chunks are missing")
        }
        if let wrong = parts.wrongEntry { throw Self.corrupt("entry \(wrong) is not a chunk") }
        guard parts.total == size else {
            throw Self.corrupt("its chunks make \(parts.total) bytes and its size says \(size)")
        }
        self.size = size
        self.sha256 = sha256
        self.chunks = chunks
    }

    /// The members of a manifest that have been parsed.
    private struct Parts {
        var version: Int64?
        var size: Int64?
        var sha256: ContentHash?
        var chunks: [ChunkReference]?
        var total: Int64 = 0
        /// The index of the first entry that is not a valid chunk.
        var wrongEntry: Int?

        mutating func read(_ reader: inout JSONReader) throws(JSONError) {
            try reader.members { (reader, key) throws(JSONError) in
                switch key {
                case "version": version = try reader.value().integerValue
                case "size": size = try reader.value().integerValue
                case "sha256": sha256 = try reader.value().stringValue.flatMap { ContentHash(hex: $0) }
                // A repeated member replaces the first one, as with every other name.
                case "chunks": try readChunks(&reader)
                default: _ = try reader.value()
                }
            }
        }

        private mutating func readChunks(_ reader: inout JSONReader) throws(JSONError) {
            var list: [ChunkReference] = []
            (total, wrongEntry) = (0, nil)
            try reader.elements { (reader) throws(JSONError) in
                let entry = try reader.value()
                guard wrongEntry == nil else { return }
                guard let chunk = Manifest.chunk(entry) else {
                    wrongEntry = list.count
                    return
                }
                total = total.saturatingAdded(to: Int64(chunk.length))
                list.append(chunk)
            }
            chunks = list
        }
    }

    /// The canonical form, which is what the store holds.
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

    /// The id of the manifest: the SHA-256 of `bytes`.
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
