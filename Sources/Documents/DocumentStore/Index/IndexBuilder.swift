import DocumentModel
import FirestoreProtocol
import SQLite

/// Makes index entries of documents that were stored before there was such an index.
struct IndexBuilder {
    /// Documents of one step, so that commits need not wait long.
    static let step = 500
    /// Each costs every later write of its collection, so there is an end.
    static let maximumCount = 8

    let tables: DocumentTables

    // MARK: All entries

    static func buildAll(in sqlite: SQLiteDatabase) throws {
        // The entries do not have the database's name in them.
        let builder = IndexBuilder(tables: DocumentTables(sqlite, name: DatabaseName(project: "any")))
        var next: Int64 = 0
        while let last = try builder.add(from: next, of: nil, composites: []) { next = last + 1 }
    }

    // MARK: Composite indexes

    /// Registers an index; from now on commits maintain it. False if it is there already or there are too many.
    func register(_ index: CompositeIndex, of collection: Int64) throws -> Bool {
        guard CompositeIndex(path: index.path) == index, index.parts.count <= 10,
            try tables.composites(of: collection).count < Self.maximumCount
        else { return false }
        let number = try tables.makeField(index.path)
        try tables.sqlite.execute(
            "INSERT OR IGNORE INTO composite(collection, field, next) VALUES(?,?,0)",
            [.integer(collection), .integer(number)])
        return tables.sqlite.changedRowCount > 0
    }

    func isUnfinished() throws -> Bool {
        try tables.sqlite.first("SELECT 1 FROM composite WHERE next IS NOT NULL LIMIT 1") { _ in true } ?? false
    }

    /// Adds the next documents to one index that lacks some. False when there is no such index.
    func continueBuilding() throws -> Bool {
        let found = try tables.sqlite.first(
            "SELECT collection, field, next FROM composite WHERE next IS NOT NULL LIMIT 1"
        ) { row in (collection: row.int64(0), field: row.int64(1), next: row.int64(2)) }
        guard let found else { return false }
        let composites = try tables.composites(of: found.collection).map(\.column).filter { $0.number == found.field }
        let last = try add(from: found.next, of: found.collection, composites: composites)
        try tables.sqlite.execute(
            "UPDATE composite SET next=? WHERE collection=? AND field=?",
            [.optional(last.map { $0 + 1 }), .integer(found.collection), .integer(found.field)])
        return true
    }

    /// Adds the entries of some documents; answers the number of the last, nil if there was none.
    /// - Parameter collection: nil for all. With it only the entries of `composites` are made, without it all others.
    private func add(from first: Int64, of collection: Int64?, composites: [CompositeIndex.Column]) throws -> Int64? {
        var documents: [(number: Int64, collection: Int64, id: [UInt8], fields: [UInt8])] = []
        var last: Int64?
        try tables.sqlite.query(
            "SELECT document, collection, id, fields FROM document WHERE document>=? ORDER BY document LIMIT ?",
            [.integer(first), .int(Self.step)]
        ) { row in
            last = row.int64(0)
            guard collection == nil || collection == row.int64(1) else { return }
            documents.append((row.int64(0), row.int64(1), row.bytes(2), row.bytes(3)))
        }
        for document in documents {
            let entries = IndexEntries(collection: document.collection, id: document.id, composites: composites) {
                collection == nil ? try tables.makeField($0) : nil
            }
            for row in try entries.rows(of: try EncodedFields(bytes: document.fields).decoded()) {
                try row.withUnsafeBytes { try tables.putEntry($0, document.number) }
            }
        }
        return last
    }
}
