import Cryptography
import SystemIO

/// A local file that has some of the chunks of a file to download. It may change at any time, so
/// bytes that are read from it need not be those that were found.
final class BaseFile: Sendable {
    private let descriptor: FileDescriptor
    private let offsets: [ContentHash: Int64]

    /// Finds the chunks of `wanted` in the file at `path`. Returns nil if it contains none of them
    /// or the task was cancelled.
    ///
    /// - Parameter listing: The manifest of the file at `path`; nil if it is not known, in which
    ///   case the file is cut into chunks.
    static func find(_ wanted: Manifest, in path: String, listing: Manifest?) async -> BaseFile? {
        guard let source = try? FileSource(path: path),
            let file = try? FileDescriptor(path: path, [.read, .nonBlocking])
        else { return nil }
        let chunks = Set(wanted.chunks.map(\.id))
        let offsets =
            if let listing, listing.size == source.size { offsets(of: chunks, listing) } else {
                await offsets(of: chunks, cutting: source)
            }
        guard !offsets.isEmpty, !Task.isCancelled else { return nil }
        return BaseFile(file, offsets)
    }

    private static func offsets(of wanted: Set<ContentHash>, _ listing: Manifest) -> [ContentHash: Int64] {
        var offsets: [ContentHash: Int64] = [:]
        var offset: Int64 = 0
        for chunk in listing.chunks {
            if wanted.contains(chunk.id) { offsets[chunk.id] = offset }
            offset += Int64(chunk.length)
        }
        return offsets
    }

    private static func offsets(
        of wanted: Set<ContentHash>, cutting source: FileSource
    ) async -> [ContentHash: Int64] {
        let reader = ChunkReader(source, sizes: .standard)
        var offsets: [ContentHash: Int64] = [:]
        var chunk = try? reader.next()
        while let cut = chunk.take(), !Task.isCancelled {
            // Another processor reads and cuts the next chunk while this one is hashed.
            async let next = reader.next()
            let id = ContentHash(of: cut.object)
            if wanted.contains(id) { offsets[id] = cut.offset }
            BufferPool.shared.give(cut.object)
            chunk = try? await next
        }
        return offsets
    }

    private init(_ descriptor: consuming FileDescriptor, _ offsets: [ContentHash: Int64]) {
        self.descriptor = descriptor
        self.offsets = offsets
    }

    /// Returns the bytes of a chunk; nil if the file does not contain it or no longer does.
    ///
    /// - Parameter verifies: Whether the bytes are hashed. Otherwise they may have changed since
    ///   the chunks were found.
    func read(_ chunk: ChunkReference, verifying verifies: Bool) -> [UInt8]? {
        guard let offset = offsets[chunk.id], let bytes = try? descriptor.readPooled(chunk.length, at: offset),
            bytes.count == chunk.length, !verifies || ContentHash(ofChunk: bytes[...]) == chunk.id
        else { return nil }
        return bytes
    }
}
