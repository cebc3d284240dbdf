import DocumentModel
import FirestoreProtocol
import SQLite

/// Reconstructs from the log what `PendingIndex` contained when the process ended: the index
/// changes of the latest commits.
enum IndexRecovery {
    /// Returns the changes of the commits that the table lacks. Some of them may be in it already.
    ///
    /// Damaged rows are skipped, because a server must start with the rest.
    static func pending(in tables: DocumentTables) throws -> IndexChanges {
        let (visible, indexed) = try tables.progress()
        guard indexed < visible else { return IndexChanges() }
        let damage = tables.damage
        tables.damage = .isSkipped
        defer { tables.damage = damage }
        var documents: [DocumentName: (collection: Int64, id: [UInt8], replaced: [[String: Value]])] = [:]
        try tables.sqlite.query(
            "SELECT sum, \(RowSum.change) FROM change WHERE time>?", [.integer(indexed)]
        ) { row in
            guard try tables.isIntact(row, 1..<7, collection: 2) else { return }
            let (collection, id) = (row.int64(2), row.bytes(3))
            let name = try tables.name(collection: collection, id: id)
            if documents[name] == nil { documents[name] = (collection, id, []) }
            // Any version since then may have been moved into the table.
            if !row.isNull(5) { documents[name]?.replaced.append(try EncodedFields(bytes: row.bytes(6)).decoded()) }
        }
        var changes = IndexChanges()
        for (collection, id, replaced) in documents.values {
            let entries = IndexEntries(
                collection: collection, id: id, composites: try tables.composites(of: collection).map(\.column),
                exempt: try tables.exemptFields(of: collection)
            ) { try tables.field($0) }
            let present = try tables.row(collection: collection, id: id)
            let rows = Set(try present.map { try entries.rows(of: EncodedFields(bytes: $0.fields).decoded()) } ?? [])
            for row in Set(try replaced.flatMap(entries.rows)).subtracting(rows) {
                changes.append(row, document: 0, time: visible)
            }
            for row in rows { changes.append(row, document: present?.document ?? 0, time: visible) }
        }
        changes.sort()
        return changes
    }

    /// Fills the empty index table of a database that was created before this form of index
    /// existed.
    static func buildAll(in sqlite: SQLiteDatabase) throws {
        // The entries do not contain the database's name.
        let tables = DocumentTables(sqlite, name: DatabaseName(project: "any"))
        try sqlite.query("SELECT document, collection, id, fields FROM document") { document in
            try fill(document, composites: [], exempt: [], in: tables)
        }
    }

    /// Rebuilds the index of a collection.
    static func rebuild(_ collection: Int64, in tables: DocumentTables) throws {
        let lower = IndexEntries.prefix(collection: collection)
        let upper = KeyBytes.successor(ofPrefix: lower) ?? IndexRange.all.upper
        for table in ["entry", "recent"] {
            try tables.sqlite.execute("DELETE FROM \(table) WHERE row>=? AND row<?", [.blob(lower), .blob(upper)])
        }
        try tables.setSetting("recent", tables.sqlite.first("SELECT count(*) FROM recent") { $0.int64(0) } ?? 0)
        let composites = try tables.composites(of: collection).map(\.column)
        let exempt = try tables.exemptFields(of: collection)
        try tables.sqlite.query(
            "SELECT document, collection, id, fields FROM document WHERE collection=?", [.integer(collection)]
        ) { try fill($0, composites: composites, exempt: exempt, in: tables) }
        try tables.sqlite.execute("UPDATE composite SET next=NULL WHERE collection=?", [.integer(collection)])
    }

    /// Stores the entries of a document.
    private static func fill(
        _ document: SQLiteStatement, composites: [CompositeIndex.Column], exempt: Set<String>, in tables: DocumentTables
    ) throws {
        let entries = IndexEntries(
            collection: document.int64(1), id: document.bytes(2), composites: composites, exempt: exempt
        ) { try tables.makeField($0) }
        // A document that cannot be decoded has no entries.
        guard let fields = try? EncodedFields(bytes: document.bytes(3)).decoded() else { return }
        for row in try entries.rows(of: fields) {
            try tables.sqlite.execute(
                "INSERT OR REPLACE INTO entry(row, document) VALUES(?,?)",
                [.blob(row), .integer(document.int64(0))])
        }
    }
}
