import DocumentModel
import SQLite

/// A row of the index and the document that has it.
struct IndexRow {
    let row: [UInt8]
    /// The number of the document; 0 if the entry is removed. Never 0 in entries passed to the body
    /// of `IndexReader.read`.
    let document: Int64
}

/// Reads the index: its tables, overlaid with the pending changes.
struct IndexReader {
    let tables: DocumentTables

    /// Calls `body` with each entry from `lower` up to, but not including, `upper`, until it
    /// returns false.
    func read(lower: [UInt8], upper: [UInt8], descending: Bool, _ body: (IndexRow) throws -> Bool) throws {
        var pending = PendingScan(tables.pending, lower: lower, upper: upper, descending: descending)
        try tables.index.read(lower: lower, upper: upper, descending: descending) { recent, settled in
            // The newest layer comes first.
            var heads = [pending.next(), try Self.next(recent), try Self.next(settled)]
            while true {
                var best: IndexRow?
                for case let head? in heads {
                    guard let row = best?.row else {
                        best = head
                        continue
                    }
                    let order = UTF8Order.compare(head.row, row)
                    if descending ? order > 0 : order < 0 { best = head }
                }
                guard let best else { return }
                if heads[0]?.row == best.row { heads[0] = pending.next() }
                if heads[1]?.row == best.row { heads[1] = try Self.next(recent) }
                if heads[2]?.row == best.row { heads[2] = try Self.next(settled) }
                guard try best.document == 0 || body(best) else { return }
            }
        }
    }

    private static func next(_ statement: SQLiteStatement) throws -> IndexRow? {
        try statement.step() ? IndexRow(row: statement.bytes(0), document: statement.int64(1)) : nil
    }

    /// Returns the approximate number of entries, capped a little above `limit`. Pending entries
    /// are not counted.
    func estimate(lower: [UInt8], upper: [UInt8], limit: Int) throws -> Int {
        try tables.index.estimate(lower: lower, upper: upper, limit: limit)
    }

    /// Returns the document that has an entry.
    func document(of row: [UInt8]) throws -> Int64? {
        var document: Int64?
        try read(lower: row, upper: row + [0], descending: false) { entry in
            document = entry.document
            return false
        }
        return document
    }

    func count(lower: [UInt8], upper: [UInt8]) throws -> Int {
        var count = 0
        try read(lower: lower, upper: upper, descending: false) { _ in
            count += 1
            return true
        }
        return count
    }
}
