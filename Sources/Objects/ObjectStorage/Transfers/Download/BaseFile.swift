import Cryptography
import SystemIO

/// A file of this machine that has some chunks of another one. It may change at any time, so what is read of it need not be what it was.
final class BaseFile: Sendable {
    private let descriptor: FileDescriptor
    private let offsets: [ContentHash: Int64]

    /// Cuts the file at `path` as uploads do, and notes where the chunks of `wanted` are. Nil where it has none of them, or the task
    /// was cancelled.
    static func find(_ wanted: Manifest, in path: String) async -> BaseFile? {
        guard let source = try? FileSource(path: path),
            let file = try? FileDescriptor(path: path, [.read, .nonBlocking])
        else { return nil }
        let chunks = Set(wanted.chunks.map(\.id))
        let reader = ChunkReader(source, sizes: .standard)
        var offsets: [ContentHash: Int64] = [:]
        var offset: Int64 = 0
        var cut = try? reader.next()
        while let object = cut.take(), !Task.isCancelled {
            // Another processor reads and cuts while this one hashes.
            async let next = reader.next()
            let id = ContentHash(of: object)
            if chunks.contains(id) { offsets[id] = offset }
            offset += Int64(object.count - ChunkHeader.byteCount)
            BufferPool.shared.give(object)
            cut = try? await next
        }
        guard !offsets.isEmpty, !Task.isCancelled else { return nil }
        return BaseFile(file, offsets)
    }

    private init(_ descriptor: consuming FileDescriptor, _ offsets: [ContentHash: Int64]) {
        self.descriptor = descriptor
        self.offsets = offsets
    }

    /// The bytes of a chunk; nil where the file does not have them, or not any more.
    ///
    /// - Parameter verifies: whether they are hashed; else they may be others than when the file was cut.
    func read(_ chunk: ChunkReference, verifying verifies: Bool) -> [UInt8]? {
        guard let offset = offsets[chunk.id], let bytes = try? descriptor.readPooled(chunk.length, at: offset),
            bytes.count == chunk.length, !verifies || ContentHash(ofChunk: bytes[...]) == chunk.id
        else { return nil }
        return bytes
    }
}
