import DocumentModel
import FirestoreProtocol
import SQLite

/// The checks that SQLite itself cannot make.
struct ConsistencyCheck {
    static let limit = 100

    let tables: DocumentTables
    private var sqlite: SQLiteDatabase { tables.sqlite }

    func problems(visible: Int64, isFileSound: Bool = false) throws -> [String] {
        let problems = isFileSound ? [] : try sqlite.quickCheck()
        // Nothing more can be trusted in a damaged file.
        guard problems.isEmpty else { return problems }
        let damaged = try damaged()
        // Entries of documents that cannot be read cannot be checked.
        return damaged.isEmpty ? try index() + log(visible: visible) + owners() : damaged
    }

    /// The rows that are not what was stored.
    private func damaged() throws -> [String] {
        var problems: [String] = []
        for (table, columns, what) in [
            ("document", RowSum.document, "is damaged"), ("change", RowSum.change, "is damaged in the log of changes"),
        ] {
            try sqlite.query(
                "SELECT collection, id FROM \(table) WHERE sum IS NOT row_sum(\(columns)) LIMIT \(Self.limit)"
            ) { problems.append("\(tables.label(collection: $0.int64(0), id: $0.bytes(1))) \(what)") }
        }
        return problems
    }

    /// Every user owns as many documents as are counted.
    func owners() throws -> [String] {
        var counts: [String: Int64] = [:]
        try sqlite.query(
            "SELECT d.fields, i.owner FROM document d LEFT JOIN inherited i USING(document)"
        ) { row in
            let fields = try? EncodedFields(bytes: row.bytes(0)).decoded()
            if let owner = DocumentOwner.named(by: fields) ?? row.optionalText(1) { counts[owner, default: 0] += 1 }
        }
        var problems: [String] = []
        try sqlite.query("SELECT owner, documents FROM usage ORDER BY owner") { row in
            let (owner, counted) = (row.text(0), row.int64(1))
            let present = counts.removeValue(forKey: owner) ?? 0
            if counted != present {
                problems.append("the user \(owner) owns \(present) documents, but \(counted) are counted")
            }
        }
        problems += counts.keys.sorted().map { "the documents of the user \($0) are not counted" }
        return Array(problems.prefix(Self.limit))
    }

    /// Every document has exactly its entries.
    func index() throws -> [String] {
        var problems: [String] = []
        var entryCount = 0
        let index = IndexReader(tables: tables)
        try sqlite.query("SELECT document, collection, id, create_time, update_time, fields FROM document") { row in
            guard problems.count < Self.limit else { return }
            let name = try tables.name(collection: row.int64(1), id: row.bytes(2))
            guard row.int64(3) <= row.int64(4) else {
                problems.append("\(name.path) was updated before its creation.")
                return
            }
            let fields: [String: Value]
            do { fields = try EncodedFields(bytes: row.bytes(5)).decoded() } catch {
                problems.append("\(name.path) cannot be decoded: \(error)")
                return
            }
            let wanted = Set(
                try IndexEntries(
                    collection: row.int64(1), id: row.bytes(2),
                    composites: try tables.composites(of: row.int64(1)).filter(\.isReady).map(\.column),
                    exempt: try tables.exemptFields(of: row.int64(1))
                ) { try tables.field($0) ?? -1 }.rows(of: fields))
            entryCount += wanted.count
            if try wanted.contains(where: { try index.document(of: $0) != row.int64(0) }) {
                problems.append("\(name.path) lacks an index entry.")
            }
        }
        // Entries of an index that is still being built are not counted.
        var stored = try index.count(lower: [], upper: [0xFF])
        try sqlite.query("SELECT collection, field FROM composite WHERE next IS NOT NULL") { row in
            let prefix = IndexEntries.prefix(collection: row.int64(0), column: row.int64(1))
            stored -= try index.count(lower: prefix, upper: prefix + [0xFF])
        }
        if problems.isEmpty, stored != entryCount {
            problems.append("The index has \(stored) entries, but the documents have \(entryCount).")
        }
        return problems
    }

    /// Times grow, no version is newer than the last commit, and each replaced version leads to the next.
    func log(visible: Int64) throws -> [String] {
        var problems: [String] = []
        let newest = try sqlite.first("SELECT max(update_time) FROM document") { $0.int64(0) } ?? 0
        let wall = StoreClock.system()
        if ClockGuard.isAhead(newest: visible, wall: wall) {
            problems.append(
                "The newest commit is at \(Timestamp(microseconds: visible)), ahead of the clock, which is at "
                    + "\(Timestamp(microseconds: wall)): one of them is wrong. If it is the commit, stop the server and run "
                    + "'ferry-server repair-clock'.")
        }
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
            problems.append("The log of \(name.path) contradicts itself.")
        }
        try sqlite.query(
            """
            SELECT d.collection, d.id FROM document d WHERE EXISTS(
                SELECT 1 FROM change c WHERE c.collection=d.collection AND c.id=d.id AND c.time>d.update_time
                AND c.update_time IS NOT NULL) LIMIT \(Self.limit)
            """
        ) { row in
            let name = try tables.name(collection: row.int64(0), id: row.bytes(1))
            problems.append("\(name.path) is older than its last change in the log.")
        }
        return problems
    }
}
