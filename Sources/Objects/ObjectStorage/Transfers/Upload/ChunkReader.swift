import Cryptography

/// Reads a source and cuts it into chunks, hashing them and the whole on the way: each byte is looked at while it is still in
/// the processor's cache, and lands where it will be sent from.
struct ChunkReader: ~Copyable {
    private static let longestBlock = 256 << 10

    private let source: any ByteSource
    private var chunker: Chunker
    private var hash = NestedSHA256()
    /// Where the source is read next.
    private(set) var offset: Int64 = 0
    /// The block read last, of which `unused` belongs to chunks to come.
    private let block: UnsafeMutableRawBufferPointer
    private var unused = 0..<0

    init(_ source: any ByteSource, sizes: ChunkSizes) {
        self.source = source
        chunker = Chunker(sizes: sizes)
        block = .allocate(byteCount: max(1, Int(min(source.size, Int64(Self.longestBlock)))), alignment: 64)
    }

    /// Whether there is no next chunk.
    var isAtEnd: Bool { unused.isEmpty && offset >= source.size }

    deinit { block.deallocate() }

    /// The next chunk as an object that holds it raw, and its id; nil at the end. Blocks.
    mutating func next() throws -> (object: [UInt8], id: ContentHash)? {
        let header = ChunkHeader.byteCount
        let left = max(0, source.size - offset) + Int64(unused.count)
        var object = BufferPool.shared.take(header + Int(min(left, Int64(chunker.sizes.maximum))))
        object.append(contentsOf: ChunkHeader(codec: .raw, rawLength: 0).bytes)
        while true {
            if unused.isEmpty {
                guard try readBlock() else { break }
            }
            let bytes = UnsafeRawBufferPointer(rebasing: block[unused])
            let cut = chunker.boundary(in: bytes)
            object.append(contentsOf: bytes[..<(cut ?? bytes.count)])
            unused = unused.dropFirst(cut ?? bytes.count)
            if cut != nil { break }
        }
        guard object.count > header else { return nil }
        let head = ChunkHeader(codec: .raw, rawLength: object.count - header).bytes
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

    /// False at the end.
    private mutating func readBlock() throws -> Bool {
        // What may have come behind it since is no part of the version that is read.
        guard offset < source.size else { return false }
        let count = try source.read(into: block, at: offset)
        offset += Int64(count)
        unused = 0..<count
        return count > 0
    }
}
