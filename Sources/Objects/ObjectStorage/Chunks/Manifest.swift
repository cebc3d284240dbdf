import JSON
import SystemIO

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

    /// The most bytes of a chunk's entry: two quotation marks, two brackets, three commas, a hash, and two lengths of at most
    /// eight digits.
    static let entryLimit = 88
    /// The most bytes of a manifest beside its entries.
    static let frameLimit = 160

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
    ///
    /// The bytes come from another machine or account. They are read without a tree of JSON values, which would take several
    /// times their memory.
    public init(parsing bytes: [UInt8]) throws(ObjectStorageError) {
        guard bytes.count <= Self.byteLimit else { throw Self.corrupt("it is longer than any can be") }
        var parts = Parts()
        do throws(JSONError) {
            try JSONReader.read(bytes, depth: 4) { (reader) throws(JSONError) in try parts.read(&reader) }
        } catch {
            throw Self.corrupt("it is no JSON of the right form")
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
        if let wrong = parts.wrongEntry { throw Self.corrupt("entry \(wrong) is no chunk") }
        guard parts.total == size else {
            throw Self.corrupt("its chunks make \(parts.total) bytes and its size says \(size)")
        }
        self.size = size
        self.sha256 = sha256
        self.chunks = chunks
    }

    /// What has been read of a manifest.
    private struct Parts {
        var version: Int64?
        var size: Int64?
        var sha256: ContentHash?
        var chunks: [ChunkReference]?
        var total: Int64 = 0
        /// The number of the first entry that is no chunk.
        var wrongEntry: Int?

        mutating func read(_ reader: inout JSONReader) throws(JSONError) {
            try reader.members { (reader, key) throws(JSONError) in
                switch key {
                case "version": version = try reader.value().integerValue
                case "size": size = try reader.value().integerValue
                case "sha256": sha256 = try reader.value().stringValue.flatMap { ContentHash(hex: $0) }
                // A second list replaces the first, as a second member of any name does.
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
