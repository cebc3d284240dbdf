import DocumentModel
import FirestoreProtocol
import SQLite

/// Reads the newest versions of documents along a scan.
struct ScanReader {
    struct Candidate {
        let position: ScanPosition
        let document: EncodedDocument
    }

    /// Receives the next document. Returns whether to continue.
    typealias Body = (Candidate) throws -> Bool

    let tables: DocumentTables

    /// Calls `body` with each document after `position` until it returns false.
    func read(_ scan: Scan, after position: ScanPosition?, _ body: Body) throws {
        switch scan.column {
        case .name:
            var ids = scan.ids
            if let position {
                if scan.descending { ids.upper = position.row } else { ids.lower = position.row + [0] }
            }
            try readNames(scan, ids: ids, body)
        case .field(let key):
            guard let number = try tables.field(key) else { return }
            try readEntries(scan, number, after: position, body)
        }
    }

    /// Returns the rows of the index that a scan of column `number` reads.
    static func rows(of scan: Scan, _ number: Int64) -> (prefix: [UInt8], lower: [UInt8], upper: [UInt8]) {
        let prefix = IndexEntries.prefix(collection: scan.collection, column: number)
        if let key = scan.range.singleKey {
            return (prefix, prefix + key + scan.ids.lower, prefix + key + scan.ids.upper)
        }
        return (prefix, prefix + scan.range.lower, prefix + scan.range.upper)
    }

    private func readNames(_ scan: Scan, ids: IndexRange, _ body: Body) throws {
        try tables.sqlite.withStatement(
            """
            SELECT sum, \(RowSum.document) FROM document
            WHERE collection=? AND id>=? AND id<? ORDER BY id \(scan.descending ? "DESC" : "ASC")
            """
        ) { statement in
            try statement.bind(1, scan.collection)
            try statement.bind(2, ids.lower)
            try statement.bind(3, ids.upper)
            while try statement.step() {
                guard try tables.isIntact(statement, 1..<6, collection: 1) else { continue }
                let id = statement.bytes(2)
                let document = EncodedDocument(
                    name: try tables.name(collection: scan.collection, id: id), createTime: statement.int64(3),
                    updateTime: statement.int64(4), fields: statement.bytes(5))
                let position = ScanPosition(row: id, keyLength: 0, isCut: false)
                guard try body(Candidate(position: position, document: document)) else { return }
            }
        }
    }

    private func readEntries(_ scan: Scan, _ number: Int64, after position: ScanPosition?, _ body: Body) throws {
        var (prefix, lower, upper) = Self.rows(of: scan, number)
        if let position {
            if scan.descending { upper = position.row } else { lower = position.row + [0] }
        }
        try IndexReader(tables: tables).read(lower: lower, upper: upper, descending: scan.descending) { entry in
            guard let (id, document) = try tables.document(entry.document) else {
                if tables.damage == .isSkipped { return true }
                throw StoredDataError.missingDocument(entry.document)
            }
            let keyLength = entry.row.count - id.count
            let position = ScanPosition(
                row: entry.row, keyLength: keyLength, isCut: keyLength - prefix.count >= IndexEntries.keyLimit)
            return try body(Candidate(position: position, document: document))
        }
    }
}
