import DocumentModel
import SQLite

/// Reads the index: the table, with what is pending laid over it.
struct IndexReader {
    struct Entry {
        let row: [UInt8]
        let document: Int64
    }

    let tables: DocumentTables

    /// Calls `body` with each entry from `lower` up to but without `upper` until it answers false.
    func read(lower: [UInt8], upper: [UInt8], descending: Bool, _ body: (Entry) throws -> Bool) throws {
        var pending = PendingScan(tables.pending, lower: lower, upper: upper, descending: descending)
        var change = pending.next()
        let sql = "SELECT row, document FROM entry WHERE row>=? AND row<? ORDER BY row \(descending ? "DESC" : "ASC")"
        try tables.sqlite.withStatement(sql) { statement in
            try statement.bind(1, lower)
            try statement.bind(2, upper)
            while try statement.step() {
                let row = statement.bytes(0)
                var isReplaced = false
                while let next = change {
                    let order = UTF8Order.compare(next.row, row)
                    guard order == 0 || (order < 0) != descending else { break }
                    isReplaced = isReplaced || order == 0
                    change = pending.next()
                    guard try tell(next, body) else { return }
                }
                guard try isReplaced || body(Entry(row: row, document: statement.int64(1))) else { return }
            }
            while let next = change {
                change = pending.next()
                guard try tell(next, body) else { return }
            }
        }
    }

    private func tell(_ change: PendingScan.Change, _ body: (Entry) throws -> Bool) throws -> Bool {
        guard change.document != 0 else { return true }
        return try body(Entry(row: change.row, document: change.document))
    }

    /// About how many entries there are, at most a little over `limit`: what is pending is left out.
    func estimate(lower: [UInt8], upper: [UInt8], limit: Int) throws -> Int {
        try tables.sqlite.withStatement(
            "SELECT count(*) FROM (SELECT 1 FROM entry WHERE row>=? AND row<? LIMIT ?)"
        ) { statement in
            try statement.bind(1, lower)
            try statement.bind(2, upper)
            try statement.bind(3, limit + 1)
            return try statement.step() ? statement.int(0) : 0
        }
    }

    /// The document that has an entry.
    func document(of row: [UInt8]) throws -> Int64? {
        var document: Int64?
        try read(lower: row, upper: row + [0], descending: false) { entry in
            document = entry.document
            return false
        }
        return document
    }

    func count(lower: [UInt8], upper: [UInt8]) throws -> Int {
        var count =
            try tables.sqlite.first(
                "SELECT count(*) FROM entry WHERE row>=? AND row<?", [.blob(lower), .blob(upper)]
            ) { $0.int(0) } ?? 0
        var pending = PendingScan(tables.pending, lower: lower, upper: upper, descending: false)
        while let change = pending.next() {
            let isInTable =
                try tables.sqlite.first("SELECT 1 FROM entry WHERE row=?", [.blob(change.row)]) { _ in true } ?? false
            if isInTable != (change.document != 0) { count += isInTable ? -1 : 1 }
        }
        return count
    }
}
