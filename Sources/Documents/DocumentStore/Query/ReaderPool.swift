import SQLite
import Synchronization

/// One connection that only reads, on a thread of its own.
actor DocumentReader {
    nonisolated private let thread = SerialThread()
    private let tables: DocumentTables
    private let index: PendingIndex

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(_ tables: sending DocumentTables, index: PendingIndex) {
        self.tables = tables
        self.index = index
    }

    deinit { thread.stop() }

    /// Runs `body` on one snapshot; `visible` is the time of its newest commit.
    func read<Result: Sendable>(
        _ body: @Sendable (_ tables: DocumentTables, _ visible: Int64) throws -> Result
    ) throws -> Result {
        while true {
            let outcome: Result? = try tables.sqlite.snapshot {
                let (visible, indexed) = try tables.progress()
                // Only a reader that was stopped for long between the two finds its snapshot too old.
                guard let pending = index.view(indexed: indexed, visible: visible) else { return .none }
                tables.pending = pending
                defer { tables.pending = PendingIndex.View() }
                return .some(try body(tables, visible))
            }
            if let outcome { return outcome }
        }
    }

    func close() { tables.sqlite.close() }
}

/// Readers that share the work; none ever waits for the writer.
final class ReaderPool: Sendable {
    private let readers: [DocumentReader]
    /// How many reads each has been given and not finished.
    private let loads: Mutex<[Int]>

    init(_ readers: [DocumentReader]) {
        self.readers = readers
        loads = Mutex([Int](repeating: 0, count: readers.count))
    }

    func read<Result: Sendable>(
        _ body: @Sendable (_ tables: DocumentTables, _ visible: Int64) throws -> Result
    ) async throws -> Result {
        let index = loads.withLock { loads in
            let index = loads.indices.min { loads[$0] < loads[$1] } ?? 0
            loads[index] += 1
            return index
        }
        defer { loads.withLock { $0[index] -= 1 } }
        do {
            return try await readers[index].read(body)
        } catch {
            throw DocumentStoreError(error)
        }
    }

    func close() async {
        for reader in readers { await reader.close() }
    }
}
