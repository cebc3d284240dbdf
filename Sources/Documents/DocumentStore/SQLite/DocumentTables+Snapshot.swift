import DocumentModel
import FirestoreProtocol
import SQLite

/// The snapshot of a SQLite file while its connection has a read transaction.
extension DocumentTables: StoreSnapshot {
    func readDocuments(
        of collection: Int64, from lower: [UInt8], below upper: [UInt8], descending: Bool,
        _ body: (_ id: [UInt8], EncodedDocument) throws -> Bool
    ) throws {
        try sqlite.withStatement(
            """
            SELECT sum, \(RowSum.document) FROM document
            WHERE collection=? AND id>=? AND id<? ORDER BY id \(descending ? "DESC" : "ASC")
            """
        ) { statement in
            try statement.bind(1, collection)
            try statement.bind(2, lower)
            try statement.bind(3, upper)
            while try statement.step() {
                guard try isIntact(statement, 1..<6, collection: 1) else { continue }
                let id = statement.bytes(2)
                let document = EncodedDocument(
                    name: try name(collection: collection, id: id), createTime: statement.int64(3),
                    updateTime: statement.int64(4), fields: statement.bytes(5))
                guard try body(id, document) else { return }
            }
        }
    }

    func readEntries(
        from lower: [UInt8], below upper: [UInt8], descending: Bool,
        _ body: (_ row: [UInt8], _ id: [UInt8], EncodedDocument) throws -> Bool
    ) throws {
        try IndexReader(tables: self).read(lower: lower, upper: upper, descending: descending) { entry in
            guard let (id, document) = try document(entry.document) else {
                if damage == .isSkipped { return true }
                throw StoredDataError.missingDocument(entry.document)
            }
            return try body(entry.row, id, document)
        }
    }

    func estimateEntries(from lower: [UInt8], below upper: [UInt8], limit: Int) throws -> Int {
        try IndexReader(tables: self).estimate(lower: lower, upper: upper, limit: limit)
    }

    func suggest(_ index: CompositeIndex, of collection: Int64) { onIndexSuggestion(collection, index, account) }

    // MARK: Collections

    func collections(from lower: [UInt8], below upper: [UInt8], named id: [UInt8]?) throws -> [Int64] {
        var sql = "SELECT collection FROM collection WHERE path>=? AND path<?"
        if id != nil { sql += " AND name=?" }
        return try sqlite.withStatement(sql) { statement in
            try statement.bind(1, lower)
            try statement.bind(2, upper)
            if let id { try statement.bind(3, id) }
            var collections: [Int64] = []
            while try statement.step() { collections.append(statement.int64(0)) }
            return collections
        }
    }

    func firstCollection(from lower: [UInt8], below upper: [UInt8]) throws -> [UInt8]? {
        try sqlite.first(
            "SELECT path FROM collection WHERE path>=? AND path<? ORDER BY path LIMIT 1", [.blob(lower), .blob(upper)]
        ) { $0.bytes(0) }
    }

    func holdsDocuments(_ collection: Int64, at time: Int64) throws -> Bool {
        let holdsNow = try sqlite.first(
            "SELECT 1 FROM document WHERE collection=? AND create_time<=? LIMIT 1",
            [.integer(collection), .integer(time)]
        ) { _ in true }
        if holdsNow ?? false { return true }
        let heldThen = try sqlite.first(
            """
            SELECT 1 FROM change
            WHERE time>?1 AND collection=?2 AND update_time IS NOT NULL AND update_time<=?1 LIMIT 1
            """, [.integer(time), .integer(collection)]
        ) { _ in true }
        return heldThen ?? false
    }

    // MARK: Log

    func horizon() throws -> Int64 { try setting("horizon") }

    func changeCount(after start: Int64, through end: Int64, limit: Int) throws -> Int {
        var count: Int64 = 0
        try sqlite.query(
            "SELECT count(*) FROM (SELECT 1 FROM change WHERE time>? AND time<=? LIMIT ?)",
            [.integer(start), .integer(end), .integer(Int64(limit))]
        ) { count = $0.int64(0) }
        return Int(clamping: count)
    }

    func readChangedDocuments(
        after start: Int64, through end: Int64, _ body: (_ collection: Int64, _ id: [UInt8]) throws -> Bool
    ) throws {
        try sqlite.withStatement("SELECT collection, id FROM change WHERE time>? AND time<=?") { statement in
            try statement.bind(1, start)
            try statement.bind(2, end)
            while try statement.step() {
                guard try body(statement.int64(0), statement.bytes(1)) else { return }
            }
        }
    }

    func readChanges(after start: Int64, through end: Int64, _ body: (StoredChange) throws -> Bool) throws {
        try sqlite.withStatement(
            """
            SELECT sum, \(RowSum.change) FROM change
            WHERE time>? AND time<=? ORDER BY time, change
            """
        ) { statement in
            try statement.bind(1, start)
            try statement.bind(2, end)
            while try statement.step() {
                let isIntact = statement.isIntact(1..<7, sum: 0)
                var replaced: StoredChange.Version?
                if isIntact, !statement.isNull(5) {
                    replaced = StoredChange.Version(
                        createTime: statement.int64(4), updateTime: statement.int64(5), fields: statement.bytes(6))
                }
                let change = StoredChange(
                    time: statement.int64(1), collection: statement.int64(2), id: statement.bytes(3),
                    replaced: replaced, isIntact: isIntact)
                guard try body(change) else { return }
            }
        }
    }

    // MARK: Accounts

    func documentCount(of owner: String) throws -> Int64 {
        try sqlite.first("SELECT documents FROM usage WHERE owner=?", [.text(owner)]) { $0.int64(0) } ?? 0
    }

    func reportDamage(_ error: StoredDataError) { onDamage(error) }
}
