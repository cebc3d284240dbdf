package import DocumentModel
import SQLite
import Synchronization
import SystemIO

/// A read-only connection, and a thread for reads that may take long.
final class DocumentReader: Sendable {
    private let thread = SerialThread()
    private let tables: Mutex<DocumentTables>
    private let index: PendingIndex

    init(_ tables: sending DocumentTables, index: PendingIndex) {
        self.tables = Mutex(tables)
        self.index = index
    }

    deinit { thread.stop() }

    /// Runs `body` on the reader's thread with one snapshot. `visible` is the time of its newest
    /// commit.
    func read<Result: Sendable>(
        for account: String?, _ damage: DamageHandling,
        _ body: @escaping @Sendable (_ tables: DocumentTables, _ visible: Int64) throws -> Result
    ) async throws -> Result {
        try await thread.run { [self] in
            try tables.withLock { tables in
                (tables.account, tables.damage) = (account, damage)
                defer { (tables.account, tables.damage) = (nil, .fails) }
                return try Self.read(tables, index, body)
            }
        }
    }

    /// Runs `body` on the caller's thread if the connection is free; otherwise returns nil.
    func readHere<Result: Sendable>(
        _ body: @Sendable (_ tables: DocumentTables, _ visible: Int64) throws -> Result
    ) throws -> Result? {
        try tables.withLockIfAvailable { tables in try Self.read(tables, index, body) }
    }

    private static func read<Result: Sendable>(
        _ tables: DocumentTables, _ index: PendingIndex,
        _ body: @Sendable (_ tables: DocumentTables, _ visible: Int64) throws -> Result
    ) throws -> Result {
        while true {
            let outcome: Result? = try tables.sqlite.snapshot {
                let (visible, indexed) = try tables.progress()
                // Only a reader that was stopped for long between the two statements finds that its
                // snapshot is too old.
                guard let pending = index.view(indexed: indexed, visible: visible) else { return .none }
                tables.pending = pending
                defer { tables.pending = PendingIndex.View() }
                return .some(try body(tables, visible))
            }
            if let outcome { return outcome }
        }
    }

    func close() { tables.withLock { $0.sqlite.close() } }
}

/// Readers that share the work. None of them ever waits for the writer.
package final class ReaderPool: SnapshotReaders {
    private let readers: [DocumentReader]
    /// Takes short reads while all others are busy with long ones.
    private let reserve: DocumentReader
    private let turns: TurnPool

    init(_ readers: [DocumentReader], reserve: DocumentReader) {
        self.readers = readers
        self.reserve = reserve
        turns = TurnPool(workers: readers.count)
    }

    /// Runs `body` on one of the readers.
    ///
    /// A short read is done on the caller's thread if a reader is free, and never waits for a long
    /// one. The others take turns by account; see `TurnSchedule`.
    package func read<Result: Sendable>(
        ofFew names: [DocumentName]?, for account: String?, damage: DamageHandling,
        _ body: @escaping @Sendable (_ snapshot: any StoreSnapshot, _ visible: Int64) throws -> Result
    ) async throws -> Result {
        do {
            if names != nil {
                for reader in readers {
                    if let result = try reader.readHere(body) { return result }
                }
                return try await reserve.read(for: nil, .fails, body)
            }
            return try await turns.run(for: account) { reader in
                try await readers[reader].read(for: account, damage, body)
            }
        } catch {
            throw DocumentStoreError(error)
        }
    }

    /// Runs `body` with the tables themselves.
    func readTables<Result: Sendable>(
        _ body: @escaping @Sendable (_ tables: DocumentTables, _ visible: Int64) throws -> Result
    ) async throws -> Result {
        do {
            return try await turns.run(for: nil) { reader in try await readers[reader].read(for: nil, .fails, body) }
        } catch {
            throw DocumentStoreError(error)
        }
    }

    func close() {
        for reader in readers + [reserve] { reader.close() }
    }
}
