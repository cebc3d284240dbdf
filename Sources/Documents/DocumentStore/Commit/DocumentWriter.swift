import DocumentModel
import FirestoreProtocol
import SQLite

/// Stores the effects of commits: documents and log. Used only inside a transaction.
struct DocumentWriter {
    let tables: DocumentTables
    private var sqlite: SQLiteDatabase { tables.sqlite }

    init(_ tables: DocumentTables) {
        self.tables = tables
    }

    /// Stores one effect.
    ///
    /// - Parameter changes: receives the resulting changes of the index.
    /// - Returns: The document's number; nil if there was nothing to store.
    func store(
        _ effect: CommitEffects.Effect, _ encoded: EncodedDocument?, at time: Int64, _ changes: inout IndexChanges
    ) throws -> Int64? {
        let id = Array(effect.name.id.utf8)
        let collection = try makeCollection(effect.name)
        let row = try effect.before == nil ? nil : tables.row(collection: collection, id: id)
        try log(collection: collection, id: id, replaced: row, at: time)
        let document: Int64
        switch (row, encoded) {
        case (nil, nil):
            return nil
        case (nil, let after?):
            document = try insert(after, collection: collection, id: id)
        case (let row?, let after?):
            document = row.document
            try update(after, document: document)
        case (let row?, nil):
            document = row.document
            try sqlite.execute("DELETE FROM document WHERE document=?", [.integer(document)])
        }
        try index(effect, collection: collection, id: id, document: document, at: time, &changes)
        return document
    }

    // MARK: Documents

    private func insert(_ after: EncodedDocument, collection: Int64, id: [UInt8]) throws -> Int64 {
        try sqlite.withStatement(
            "INSERT INTO document(\(RowSum.document), sum) VALUES(?1,?2,?3,?4,?5, row_sum(?1,?2,?3,?4,?5))"
        ) { statement in
            try statement.bind(1, collection)
            try statement.bind(2, id)
            try statement.bind(3, after.createTime.microseconds)
            try statement.bind(4, after.updateTime.microseconds)
            try statement.bind(5, after.fields.bytes)
            try statement.run()
        }
        return sqlite.lastInsertedRowID
    }

    private func update(_ after: EncodedDocument, document: Int64) throws {
        // The other columns have been read, and verified with the checksum, in this transaction.
        try sqlite.withStatement(
            """
            UPDATE document SET create_time=?1, update_time=?2, fields=?3, sum=row_sum(collection, id, ?1, ?2, ?3)
            WHERE document=?4
            """
        ) { statement in
            try statement.bind(1, after.createTime.microseconds)
            try statement.bind(2, after.updateTime.microseconds)
            try statement.bind(3, after.fields.bytes)
            try statement.bind(4, document)
            try statement.run()
        }
    }

    private func log(collection: Int64, id: [UInt8], replaced row: DocumentTables.Row?, at time: Int64) throws {
        try sqlite.withStatement(
            "INSERT INTO change(\(RowSum.change), sum) VALUES(?1,?2,?3,?4,?5,?6, row_sum(?1,?2,?3,?4,?5,?6))"
        ) { statement in
            try statement.bind(1, time)
            try statement.bind(2, collection)
            try statement.bind(3, id)
            if let row {
                try statement.bind(4, row.createTime)
                try statement.bind(5, row.updateTime)
                try statement.bind(6, row.fields)
            }
            try statement.run()
        }
    }

    // MARK: Index

    private func index(
        _ effect: CommitEffects.Effect, collection: Int64, id: [UInt8], document: Int64, at time: Int64,
        _ changes: inout IndexChanges
    ) throws {
        let entries = IndexEntries(
            collection: collection, id: id, composites: try tables.writtenComposites(of: collection),
            exempt: try tables.exemptFields(of: collection)
        ) { try tables.makeField($0) }
        let (gone, new) = try entries.difference(from: effect.before?.fields, to: effect.after?.fields)
        for row in gone { changes.append(row, document: 0, time: time) }
        for row in new { changes.append(row, document: document, time: time) }
    }

    // MARK: Numbers

    private func makeCollection(_ name: DocumentName) throws -> Int64 {
        let key = KeyBytes.path(name.collectionPath)
        if let known = try tables.collection(key: key) { return known }
        try sqlite.execute(
            "INSERT INTO collection(path, name) VALUES(?,?)", [.blob(key), .blob(Array(name.collectionID.utf8))])
        let number = sqlite.lastInsertedRowID
        tables.remember(number, forCollection: key)
        return number
    }

    // MARK: Log

    /// Removes up to `limit` changes that are not later than `time`. Returns the time of the oldest
    /// remaining change, if any.
    func prune(through time: Int64, limit: Int) throws -> Int64? {
        var newest: Int64?
        var numbers: [Int64] = []
        try sqlite.query(
            "SELECT change, time FROM change WHERE time<=? ORDER BY time LIMIT ?", [.integer(time), .int(limit)]
        ) { row in
            numbers.append(row.int64(0))
            newest = row.int64(1)
        }
        guard let newest else { return try oldestChange() }
        // The horizon is moved before the rows are deleted: reads at or before this time are
        // refused from now on.
        try tables.setSetting("horizon", newest)
        for number in numbers { try sqlite.execute("DELETE FROM change WHERE change=?", [.integer(number)]) }
        return try oldestChange()
    }

    func oldestChange() throws -> Int64? {
        try sqlite.first("SELECT time FROM change ORDER BY time LIMIT 1") { $0.int64(0) }
    }
}
