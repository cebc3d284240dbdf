import Cryptography

/// An earlier version of an uploaded file, from which unchanged chunks are recognized.
///
/// `ChunkReader` reads the chunks that it expects to be unchanged; this value verifies them. Without
/// an earlier version no chunk is expected, and each is identified by its hash.
struct EarlierVersion: Sendable {
    /// The key of its manifest; nil if there is none.
    var key: ObjectKey?
    /// The fingerprints of its chunks, or an empty list; those of a long file are then computed for
    /// the new version too. Nil: no fingerprints are computed.
    var marks: ChunkFingerprints?

    /// The identity of a chunk.
    struct Identity: Sendable {
        let id: ContentHash
        /// The fingerprint; nil if none are computed.
        let mark: [UInt8]?
    }

    /// Returns what is worth knowing for a file of about `count` chunks.
    func worthKnowing(forChunks count: Int64) -> EarlierVersion {
        EarlierVersion(
            key: count >= Manifest.chunksWorthKnowing ? key : nil,
            marks: count >= Manifest.chunksWorthMarking ? marks : nil)
    }

    /// Fetches the manifest and lets `reader` follow it. A manifest that cannot be fetched counts as
    /// none.
    func guide(_ reader: ChunkReader, from store: any ObjectStore, _ progress: TransferProgress) async {
        guard let manifest = await store.earlierManifest(key, progress) else { return }
        reader.follow(manifest, marks: marks)
    }

    /// Identifies chunks up to the first one that is not the expected one, which must be cut again,
    /// and adds their bytes to the hash of the whole.
    func identify(_ chunks: [ChunkReader.Chunk], _ whole: inout SHA256) async -> [Identity] {
        let before = whole
        let identities = await identities(of: chunks, &whole)
        guard let wrong = identities.firstIndex(where: { $0 == nil }) else { return identities.compactMap(\.self) }
        whole = before
        for chunk in chunks[..<wrong] { whole.addContent(ofChunk: chunk.object) }
        return identities[..<wrong].compactMap(\.self)
    }

    /// A result is nil if the chunk is not the expected one.
    private func identities(of chunks: [ChunkReader.Chunk], _ whole: inout SHA256) async -> [Identity?] {
        guard chunks.count > 1, BufferPool.shared.hasOneUser else {
            var identities: [Identity?] = []
            for chunk in chunks {
                var id: ContentHash?
                if chunk.expected?.mark == nil {
                    id = await HashBatcher.shared.addChunk(chunk.object, to: &whole)
                } else {
                    whole.addContent(ofChunk: chunk.object)
                }
                identities.append(identity(of: chunk, id))
            }
            return identities
        }
        // Two processors share the work.
        async let identities = identities(of: chunks)
        for chunk in chunks { whole.addContent(ofChunk: chunk.object) }
        return await identities
    }

    private func identities(of chunks: [ChunkReader.Chunk]) -> [Identity?] {
        let unmarked = chunks.filter { $0.expected?.mark == nil }
        var ids = SHA256.hash(each: unmarked.map { $0.object[...] }).map { ContentHash($0) }[...]
        return chunks.map { identity(of: $0, $0.expected?.mark == nil ? ids.popFirst() : nil) }
    }

    /// - Parameter id: The id of the chunk; nil if its fingerprint is known and verified instead.
    private func identity(of chunk: ChunkReader.Chunk, _ id: ContentHash?) -> Identity? {
        let mark = marks?.mark(of: chunk.object.dropFirst(ChunkHeader.byteCount))
        guard let expected = chunk.expected else { return id.map { Identity(id: $0, mark: mark) } }
        let isRight = if let known = expected.mark { known == mark } else { id == expected.id }
        return isRight ? Identity(id: expected.id, mark: mark) : nil
    }
}
