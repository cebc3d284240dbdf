import DocumentModel
import FirestoreProtocol
import SQLite

/// Reads the newest versions of documents along a scan.
struct ScanReader {
    struct Candidate {
        let position: ScanPosition
        let document: EncodedDocument
    }

    /// Takes the next document; answers whether to go on.
    typealias Body = (Candidate) throws -> Bool

    let tables: DocumentTables

    /// Calls `body` with each document after `position` until it answers false.
    func read(_ scan: Scan, after position: ScanPosition?, _ body: Body) throws {
        switch scan.column {
        case .name:
            _ = try readNames(scan, ids: ids(of: scan, after: position), body)
        case .field(let key):
            guard let field = try tables.field(key) else { return }
            if let single = scan.range.singleKey {
                _ = try readKey(single, scan, field: field, ids: ids(of: scan, after: position), body)
                return
            }
            var range = scan.range
            if let position {
                // First the rest of the key that was read last, then what is beyond it.
                let rest = ids(of: scan, after: position)
                guard try readKey(position.key, scan, field: field, ids: rest, body) else { return }
                if scan.descending { range.upper = position.key } else { range.lower = position.key + [0] }
            }
            _ = try readKeys(range, scan, field: field, body)
        }
    }

    private func ids(of scan: Scan, after position: ScanPosition?) -> IndexRange {
        guard let position else { return scan.ids }
        var ids = scan.ids
        if scan.descending { ids.upper = position.id } else { ids.lower = position.id + [0] }
        return ids
    }

    private func readNames(_ scan: Scan, ids: IndexRange, _ body: Body) throws -> Bool {
        try tables.sqlite.withStatement(
            """
            SELECT x'', id, create_time, update_time, fields FROM document
            WHERE collection=? AND id>=? AND id<? ORDER BY id \(scan.direction)
            """
        ) { statement in
            try statement.bind(1, scan.collection)
            try statement.bind(2, ids.lower)
            try statement.bind(3, ids.upper)
            return try readRows(statement, scan, body)
        }
    }

    private func readKey(_ key: [UInt8], _ scan: Scan, field: Int64, ids: IndexRange, _ body: Body) throws -> Bool {
        try tables.sqlite.withStatement(
            """
            SELECT e.key, e.id, d.create_time, d.update_time, d.fields
            FROM entry e CROSS JOIN document d ON d.document=e.document
            WHERE e.collection=? AND e.field=? AND e.key=? AND e.id>=? AND e.id<? ORDER BY e.id \(scan.direction)
            """
        ) { statement in
            try statement.bind(1, scan.collection)
            try statement.bind(2, field)
            try statement.bind(3, key)
            try statement.bind(4, ids.lower)
            try statement.bind(5, ids.upper)
            return try readRows(statement, scan, body)
        }
    }

    private func readKeys(_ range: IndexRange, _ scan: Scan, field: Int64, _ body: Body) throws -> Bool {
        try tables.sqlite.withStatement(
            """
            SELECT e.key, e.id, d.create_time, d.update_time, d.fields
            FROM entry e CROSS JOIN document d ON d.document=e.document
            WHERE e.collection=? AND e.field=? AND e.key>=? AND e.key<?
            ORDER BY e.key \(scan.direction), e.id \(scan.direction)
            """
        ) { statement in
            try statement.bind(1, scan.collection)
            try statement.bind(2, field)
            try statement.bind(3, range.lower)
            try statement.bind(4, range.upper)
            return try readRows(statement, scan, body)
        }
    }

    /// False if `body` stopped it.
    private func readRows(_ statement: SQLiteStatement, _ scan: Scan, _ body: Body) throws -> Bool {
        while try statement.step() {
            let id = statement.bytes(1)
            let document = EncodedDocument(
                name: try tables.name(collection: scan.collection, id: id), createTime: statement.int64(2),
                updateTime: statement.int64(3), fields: statement.bytes(4))
            let position = ScanPosition(key: statement.bytes(0), id: id)
            guard try body(Candidate(position: position, document: document)) else { return false }
        }
        return true
    }
}

extension Scan {
    fileprivate var direction: String { descending ? "DESC" : "ASC" }
}
