import Synchronization

/// The chunks that a transfer knows to be in the store, so that it neither asks for them nor sends
/// them twice.
protocol ChunkLedger: Sendable {
    /// Returns what is known of a chunk; nil if the store has to be asked.
    func find(_ id: ContentHash) async throws -> KnownChunk?

    /// Records that a chunk is in the store.
    func record(_ id: ContentHash, _ chunk: KnownChunk) async throws
}

/// A chunk that is in the store.
struct KnownChunk: Hashable, Sendable {
    var storedLength: Int
    /// Whether this transfer has put the chunk.
    var wasSent: Bool
}

/// A ledger for transfers that end with the process.
final class MemoryLedger: ChunkLedger {
    private let chunks = Mutex<[ContentHash: KnownChunk]>([:])

    func find(_ id: ContentHash) -> KnownChunk? { chunks.withLock { $0[id] } }

    func record(_ id: ContentHash, _ chunk: KnownChunk) { chunks.withLock { $0[id] = chunk } }
}
