import SystemIO

/// A file of this machine that has some chunks of another one. It may change at any time, so what is read of it is checked.
final class BaseFile: Sendable {
    private let descriptor: FileDescriptor
    private let offsets: [ContentHash: Int64]

    /// Cuts the file at `path` as uploads do, and notes where the chunks of `wanted` are. Nil where it has none of them. Blocks.
    init?(path: String, wanted: Manifest) {
        guard let source = try? FileSource(path: path),
            let file = try? FileDescriptor(path: path, [.read, .nonBlocking])
        else { return nil }
        let chunks = Set(wanted.chunks.map(\.id))
        var reader = ChunkReader(source, sizes: .standard)
        var offsets: [ContentHash: Int64] = [:]
        var offset: Int64 = 0
        while let (object, id) = try? reader.next() {
            if Task.isCancelled { return nil }
            if chunks.contains(id) { offsets[id] = offset }
            offset += Int64(object.count - ChunkHeader.byteCount)
            BufferPool.shared.give(object)
        }
        guard !offsets.isEmpty else { return nil }
        descriptor = file
        self.offsets = offsets
    }

    /// The bytes of a chunk; nil where the file does not have them, or not any more.
    func read(_ chunk: ChunkReference) -> [UInt8]? {
        guard let offset = offsets[chunk.id], let bytes = try? descriptor.read(chunk.length, at: offset),
            bytes.count == chunk.length, ContentHash(ofChunk: bytes[...]) == chunk.id
        else { return nil }
        return bytes
    }
}
