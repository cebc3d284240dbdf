/// The options of an upload.
package struct UploadOptions: Sendable {
    /// The compression of chunks.
    package var compression = CompressionPolicy.automatic
    /// The key of the manifest of an earlier version, whose chunks are likely to be unchanged; nil
    /// if there is none.
    package var earlier: ObjectKey?
    /// The fingerprints of the chunks of the earlier version, or an empty list; the outcome of a
    /// long file then has those of the new version. Nil: no fingerprints are computed.
    package var marks: ChunkFingerprints?
    /// Whether all objects are put even if the store has them, because those may be damaged.
    package var replaces = false
    /// The inventory that several uploads share; nil for one that only this upload uses.
    package var inventory: ChunkInventory?
    /// Whether a file of one chunk gets no manifest; its content is then referred to by the chunk.
    package var namesOnlyChunk = false
    var sizes = ChunkSizes.standard

    /// Creates the default options.
    package init() {}
}
