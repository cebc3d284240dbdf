import Glibc

/// The ledger of a durable transfer: in memory, and in the journal a little later. What a crash loses is asked of the
/// store.
actor JournalLedger: ChunkLedger {
    private static let batch = 32

    private let id: TransferID
    private let journal: TransferJournal
    private var chunks: [ContentHash: KnownChunk]?
    private var pending: [(ContentHash, KnownChunk)] = []

    init(id: TransferID, journal: TransferJournal) {
        self.id = id
        self.journal = journal
    }

    func find(_ id: ContentHash) async throws -> KnownChunk? {
        if chunks == nil {
            let noted = try await journal.chunks(of: self.id, now: Int64(time(nil)))
            // Somebody else may have come here meanwhile, and recorded more.
            chunks = noted.merging(chunks ?? [:]) { _, newer in newer }
        }
        return chunks?[id]
    }

    func record(_ id: ContentHash, _ chunk: KnownChunk) async throws {
        chunks?[id] = chunk
        pending.append((id, chunk))
        if pending.count >= Self.batch { try await flush() }
    }

    /// To be called when a pass ends, however it ends.
    func flush() async throws {
        guard !pending.isEmpty else { return }
        let batch = pending
        pending = []
        try await journal.note(batch, of: id, now: Int64(time(nil)))
    }
}
