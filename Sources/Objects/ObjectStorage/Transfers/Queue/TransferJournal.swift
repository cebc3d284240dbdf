import SQLite

/// The transfers of this device in an SQLite database, so that they survive restarts.
///
/// Changes of transfers are on disk when the call returns. Records of chunks may be lost in a power
/// failure; the store is asked for them then.
actor TransferJournal {
    /// The number of seconds for which a record that a chunk is in the store is trusted. Garbage
    /// collection must keep chunks for longer than that.
    static let chunkTrust: Int64 = 24 * 3600

    private let database: SQLiteActor

    init(path: String) throws {
        var configuration = SQLiteConfiguration()
        configuration.synchronous = .normal
        configuration.cacheKiB = 512
        database = try SQLiteActor(path: path, configuration: configuration) {
            try $0.migrate("transfers", Self.migrations)
        }
    }

    private static let migrations = [
        SQLiteMigration(
            "transfers and the chunks they have stored",
            sql: """
                CREATE TABLE transfer(
                    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, direction TEXT NOT NULL,
                    label TEXT NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL, path TEXT NOT NULL,
                    spooled INTEGER NOT NULL, partial TEXT, priority INTEGER NOT NULL, state TEXT NOT NULL,
                    size INTEGER, sha256 BLOB, manifest BLOB, chunks INTEGER NOT NULL,
                    problem_code TEXT, problem TEXT) STRICT;
                CREATE TABLE transfer_chunk(
                    transfer TEXT NOT NULL, chunk BLOB NOT NULL, stored INTEGER NOT NULL, sent INTEGER NOT NULL,
                    noted INTEGER NOT NULL, PRIMARY KEY (transfer, chunk)) STRICT, WITHOUT ROWID;
                """),
        SQLiteMigration("limits of transfers", sql: "ALTER TABLE transfer ADD COLUMN rate INTEGER"),
        SQLiteMigration("downloads by key", sql: "ALTER TABLE transfer ADD COLUMN object TEXT"),
    ]

    /// Returns all transfers in the order in which they were added.
    func all() async throws -> [TransferRecord] {
        try await database.run { database in
            var records: [TransferRecord] = []
            try database.query(
                """
                SELECT id, direction, label, name, type, path, spooled, partial, priority, state, size, sha256,
                    manifest, chunks, problem_code, problem, rate, object FROM transfer ORDER BY number
                """
            ) { row in
                if let record = TransferRecord(row) { records.append(record) }
            }
            return records
        }
    }

    /// Adds or replaces records, all or none. A transfer that is done stays done, even if a command
    /// arrives later.
    func save(_ records: [TransferRecord]) async throws {
        try await durably { database in
            for record in records {
                try database.execute(
                    """
                    INSERT INTO transfer(id, direction, label, name, type, path, spooled, partial, priority, state, size,
                        sha256, manifest, chunks, problem_code, problem, rate, object)
                    VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
                    ON CONFLICT(id) DO UPDATE SET state = excluded.state, size = excluded.size,
                        sha256 = excluded.sha256, manifest = excluded.manifest, chunks = excluded.chunks,
                        problem_code = excluded.problem_code, problem = excluded.problem, rate = excluded.rate
                        WHERE transfer.state <> 'done'
                    """, record.values)
                if record.state == .done {
                    try database.execute("DELETE FROM transfer_chunk WHERE transfer = ?", [.text(record.id.text)])
                }
            }
        }
    }

    /// Removes a transfer and its chunks.
    func remove(_ id: TransferID) async throws {
        try await durably { database in
            try database.execute("DELETE FROM transfer WHERE id = ?", [.text(id.text)])
            try database.execute("DELETE FROM transfer_chunk WHERE transfer = ?", [.text(id.text)])
        }
    }

    /// Records chunks that are in the store.
    func note(_ chunks: [(ContentHash, KnownChunk)], of id: TransferID, now: Int64) async throws {
        try await database.transaction { database in
            for (hash, chunk) in chunks {
                try database.execute(
                    "INSERT OR REPLACE INTO transfer_chunk(transfer, chunk, stored, sent, noted) VALUES (?,?,?,?,?)",
                    [
                        .text(id.text), .blob(hash.bytes), .int(chunk.storedLength), .bool(chunk.wasSent),
                        .integer(now),
                    ])
            }
        }
    }

    /// Returns the chunks that were recorded in the last `chunkTrust` seconds.
    func chunks(of id: TransferID, now: Int64) async throws -> [ContentHash: KnownChunk] {
        try await database.run { database in
            var chunks: [ContentHash: KnownChunk] = [:]
            try database.query(
                "SELECT chunk, stored, sent FROM transfer_chunk WHERE transfer = ? AND noted BETWEEN ? AND ?",
                [.text(id.text), .integer(now - Self.chunkTrust), .integer(now)]
            ) { row in
                guard let hash = ContentHash(bytes: row.bytes(0)) else { return }
                chunks[hash] = KnownChunk(storedLength: row.int(1), wasSent: row.bool(2))
            }
            return chunks
        }
    }

    /// Returns the chunks that this transfer put and no other transfer recorded.
    func exclusiveChunks(of id: TransferID) async throws -> [ContentHash] {
        try await database.run { database in
            var chunks: [ContentHash] = []
            try database.query(
                """
                SELECT chunk FROM transfer_chunk AS mine WHERE transfer = ?1 AND sent = 1 AND NOT EXISTS (
                    SELECT 1 FROM transfer_chunk WHERE chunk = mine.chunk AND transfer <> ?1)
                """, [.text(id.text)]
            ) { row in
                if let hash = ContentHash(bytes: row.bytes(0)) { chunks.append(hash) }
            }
            return chunks
        }
    }

    func close() async { await database.close() }

    /// Runs `body` in a transaction that is on disk when this returns, unlike those that record
    /// chunks.
    private func durably(_ body: @Sendable (SQLiteDatabase) throws -> Void) async throws {
        try await database.run { database in try database.transaction(.full) { try body(database) } }
    }
}

extension TransferRecord {
    /// Creates a record from the columns in the order of `TransferJournal.all`; nil if a value is
    /// invalid.
    fileprivate init?(_ row: SQLiteStatement) {
        guard let id = TransferID(row.text(0)), let direction = TransferSnapshot.Direction(rawValue: row.text(1)),
            let type = MIMEType(row.text(4)), let state = State(rawValue: row.text(9))
        else { return nil }
        self.init(
            id: id, direction: direction, label: row.text(2), name: row.text(3), type: type, path: row.text(5),
            isSpooled: row.bool(6), partial: row.optionalText(7), priority: row.int(8),
            rate: row.optionalInt64(16).flatMap { Int(exactly: $0) }, state: state,
            size: row.optionalInt64(10), sha256: row.optionalBytes(11).flatMap { ContentHash(bytes: $0) },
            manifest: row.optionalBytes(12).flatMap { ContentHash(bytes: $0) },
            object: row.optionalText(17).flatMap { try? ObjectKey($0) }, chunkCount: row.int(13),
            problem: row.optionalText(15).map {
                ObjectStorageError(ObjectStorageError.Code(named: row.text(14)), $0)
            })
    }

    fileprivate var values: [SQLiteValue] {
        [
            .text(id.text), .text(direction.rawValue), .text(label), .text(name), .text(type.description), .text(path),
            .bool(isSpooled), .optional(partial), .int(priority), .text(state.rawValue), .optional(size),
            .optional(sha256?.bytes), .optional(manifest?.bytes), .int(chunkCount),
            .optional(problem?.code.description), .optional(problem?.message), .optional(rate.map(Int64.init)),
            .optional(object?.text),
        ]
    }
}
