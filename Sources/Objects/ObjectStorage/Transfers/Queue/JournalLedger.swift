import SystemIO

/// The known chunks of a durable transfer, in memory and a little later in the journal. After a
/// crash the store is asked for those that were lost.
actor JournalLedger: ChunkLedger {
    private static let batch = 32

    private let id: TransferID
    private let journal: TransferJournal
    private let environment: Environment
    private var chunks: [ContentHash: KnownChunk]?
    private var pending: [(ContentHash, KnownChunk)] = []

    init(id: TransferID, journal: TransferJournal, environment: Environment) {
        self.id = id
        self.journal = journal
        self.environment = environment
    }

    func find(_ id: ContentHash) async throws -> KnownChunk? {
        if chunks == nil {
            let noted = try await journal.chunks(of: self.id, now: environment.wallClock() / 1000)
            // Another call may have loaded and recorded chunks during the suspension.
            chunks = noted.merging(chunks ?? [:]) { _, newer in newer }
        }
        return chunks?[id]
    }

    func record(_ id: ContentHash, _ chunk: KnownChunk) async throws {
        chunks?[id] = chunk
        pending.append((id, chunk))
        if pending.count >= Self.batch { try await flush() }
    }

    /// Writes the recorded chunks to the journal. It must be called whenever an attempt ends.
    func flush() async throws {
        guard !pending.isEmpty else { return }
        let batch = pending
        pending = []
        try await journal.note(batch, of: id, now: environment.wallClock() / 1000)
    }
}
