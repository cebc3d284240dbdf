import Cryptography

/// Reads a source and cuts it into chunks, hashing them and the whole on the way: each byte is looked at while it is still in
/// the processor's cache, and lands where it will be sent from.
struct ChunkReader: ~Copyable {
    /// How much is read at once.
    static let blockSize = 256 << 10

    private let source: any ByteSource
    private var chunker: Chunker
    private var hash = NestedSHA256()
    /// Where the source is read next.
    private(set) var offset: Int64 = 0
    /// What was read behind the end of the last chunk.
    private var rest: [UInt8] = []

    init(_ source: any ByteSource, sizes: ChunkSizes) {
        self.source = source
        chunker = Chunker(sizes: sizes)
    }

    /// Whether there is no next chunk.
    var isAtEnd: Bool { rest.isEmpty && offset >= source.size }

    /// The next chunk as an object that holds it raw, and its id; nil at the end. Blocks.
    mutating func next() throws -> (object: [UInt8], id: ContentHash)? {
        let header = ChunkHeader.byteCount
        let left = max(0, source.size - offset) + Int64(rest.count)
        var object = BufferPool.shared.take(
            header + Int(min(left, Int64(chunker.sizes.maximum + Self.blockSize))))
        object.append(contentsOf: ChunkHeader(codec: .raw, rawLength: 0).bytes)
        object.append(contentsOf: rest)
        rest = []
        var end = header
        while try end < object.count || readBlock(into: &object) {
            let cut = object.withUnsafeBytes { chunker.boundary(in: UnsafeRawBufferPointer(rebasing: $0[end...])) }
            end = cut.map { end + $0 } ?? object.count
            if cut != nil { break }
        }
        guard end > header else { return nil }
        rest = Array(object[end...])
        object.removeSubrange(end...)
        let head = ChunkHeader(codec: .raw, rawLength: end - header).bytes
        object.replaceSubrange(..<header, with: head)
        hash.beginPart(head)
        object.withUnsafeBytes { hash.update(UnsafeRawBufferPointer(rebasing: $0[header...])) }
        return (object, ContentHash(hash.finishPart()))
    }

    /// The SHA-256 of everything read. Throws `.sourceChanged` if that is not one version of the source.
    mutating func finish() throws -> ContentHash {
        try source.verifyUnchanged()
        guard offset == source.size else {
            throw ObjectStorageError(
                .sourceChanged, "\(source.name) had \(source.size) bytes and gave \(offset); it is read again later")
        }
        return ContentHash(hash.finish())
    }

    /// Appends a block; false at the end.
    private mutating func readBlock(into object: inout [UInt8]) throws -> Bool {
        // What may have come behind it since is no part of the version that is read.
        let length = Int(min(source.size - offset, Int64(Self.blockSize)))
        guard length > 0 else { return false }
        let before = object.count
        try object.append(addingCapacity: length) { room in
            try room.withUnsafeMutableBufferPointer { room, count in
                let room = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(room)[..<length])
                count = try source.read(into: room, at: offset)
            }
        }
        let count = object.count - before
        offset += Int64(count)
        return count > 0
    }
}
