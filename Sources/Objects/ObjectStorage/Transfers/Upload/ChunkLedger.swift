import Synchronization

/// What a transfer remembers of chunks in the store, so that it neither asks nor sends twice.
protocol ChunkLedger: Sendable {
    /// How long the object is that holds the chunk, where it is known to be in the store; nil: ask the store.
    func find(_ id: ContentHash) async throws -> KnownChunk?

    func record(_ id: ContentHash, _ chunk: KnownChunk) async throws
}

struct KnownChunk: Hashable, Sendable {
    var storedLength: Int
    /// Whether this very transfer put it there.
    var wasSent: Bool
}

/// For transfers that need not outlive the process.
final class MemoryLedger: ChunkLedger {
    private let chunks = Mutex<[ContentHash: KnownChunk]>([:])

    func find(_ id: ContentHash) -> KnownChunk? { chunks.withLock { $0[id] } }

    func record(_ id: ContentHash, _ chunk: KnownChunk) { chunks.withLock { $0[id] = chunk } }
}
