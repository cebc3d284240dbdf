import DocumentModel
import FirestoreProtocol
import SQLite

extension SQLiteDocumentStore {
    /// Reads everything and answers what contradicts itself, one line each; empty when the database is sound.
    ///
    /// Compares the index with the documents, and the log with both. Other work goes on meanwhile.
    package func check() async throws -> [String] {
        try await readers.read { tables, visible in
            var problems = try tables.sqlite.quickCheck()
            // Nothing more can be trusted in a damaged file.
            guard problems.isEmpty else { return problems }
            let check = ConsistencyCheck(tables: tables)
            problems += try check.index()
            problems += try check.log(visible: visible)
            return problems
        }
    }
}

/// The checks that SQLite itself cannot make.
private struct ConsistencyCheck {
    static let limit = 100

    let tables: DocumentTables
    private var sqlite: SQLiteDatabase { tables.sqlite }

    /// Every document has exactly its entries.
    func index() throws -> [String] {
        var problems: [String] = []
        var entryCount = 0
        try sqlite.query("SELECT document, collection, id, create_time, update_time, fields FROM document") { row in
            guard problems.count < Self.limit else { return }
            let name = try tables.name(collection: row.int64(1), id: row.bytes(2))
            guard row.int64(3) <= row.int64(4) else {
                problems.append("\(name) was updated before its creation.")
                return
            }
            let fields: [String: Value]
            do { fields = try EncodedFields(bytes: row.bytes(5)).decoded() } catch {
                problems.append("\(name) cannot be decoded: \(error)")
                return
            }
            let wanted = IndexEntries(fields).entries
            entryCount += wanted.count
            for entry in wanted
            where try !has(entry, collection: row.int64(1), id: row.bytes(2), document: row.int64(0)) {
                problems.append("\(name) lacks an index entry.")
                return
            }
        }
        let stored = try sqlite.first("SELECT count(*) FROM entry") { $0.int(0) } ?? 0
        if problems.isEmpty, stored != entryCount {
            problems.append("The index has \(stored) entries, but the documents have \(entryCount).")
        }
        return problems
    }

    private func has(_ entry: IndexEntries.Entry, collection: Int64, id: [UInt8], document: Int64) throws -> Bool {
        guard let field = try tables.field(entry.field) else { return false }
        return try sqlite.first(
            "SELECT 1 FROM entry WHERE collection=? AND field=? AND key=? AND id=? AND document=?",
            [.integer(collection), .integer(field), .blob(entry.key), .blob(id), .integer(document)]
        ) { _ in true } ?? false
    }

    /// Times grow, no version is newer than the last commit, and each replaced version leads to the next.
    func log(visible: Int64) throws -> [String] {
        var problems: [String] = []
        let newest = try sqlite.first("SELECT max(update_time) FROM document") { $0.int64(0) } ?? 0
        if newest > visible { problems.append("A document is newer than the last commit.") }
        let last = try sqlite.first("SELECT max(time) FROM change") { $0.int64(0) } ?? 0
        if last > visible { problems.append("The log is newer than the last commit.") }
        if try tables.setting("clock") < visible { problems.append("The clock is behind the last commit.") }
        try sqlite.query(
            """
            SELECT n.collection, n.id FROM change n JOIN change o ON o.collection=n.collection AND o.id=n.id
            AND o.time<n.time WHERE n.update_time IS NOT NULL AND n.update_time<o.time LIMIT \(Self.limit)
            """
        ) { row in
            let name = try tables.name(collection: row.int64(0), id: row.bytes(1))
            problems.append("The log of \(name) contradicts itself.")
        }
        try sqlite.query(
            """
            SELECT d.collection, d.id FROM document d WHERE EXISTS(
                SELECT 1 FROM change c WHERE c.collection=d.collection AND c.id=d.id AND c.time>d.update_time
                AND c.update_time IS NOT NULL) LIMIT \(Self.limit)
            """
        ) { row in
            let name = try tables.name(collection: row.int64(0), id: row.bytes(1))
            problems.append("\(name) is older than its last change in the log.")
        }
        return problems
    }
}
