import DocumentModel
import FirestoreProtocol
import SQLite

/// The progress of building a composite index for documents that existed before it.
struct CompositeProgress: Hashable {
    let collection: Int64
    /// The number of the index's column.
    let field: Int64
    /// The id from which documents may lack entries; nil when none does.
    var next: [UInt8]?
}

/// Builds the entries of composite indexes for documents that were stored before the index existed.
///
/// They become pending entries like those of commits, but the log does not contain them. Progress
/// is therefore stored only with the batch that moves them into the table.
struct IndexBuilder {
    /// The number of documents per step, limited so that commits need not wait long.
    private static let step = 500
    /// The maximum number of indexes of a collection. Each one adds cost to every later write.
    private static let maximumCount = 16

    let tables: DocumentTables
    /// The progress of every index that lacks documents, or did when progress was last stored.
    private(set) var progress: [CompositeProgress]

    init(tables: DocumentTables) throws {
        self.tables = tables
        progress = try Self.stored(in: tables)
    }

    var isBuilding: Bool { progress.contains { $0.next != nil } }

    /// Registers an index, which commits maintain from now on.
    ///
    /// Returns false if the index exists, if the collection has too many, or if `limit` indexes of
    /// the collection were created for the account.
    ///
    /// - Parameter account: the account whose query suggested the index; nil for the operator, who
    ///   has no limit.
    func register(
        _ index: CompositeIndex, of collection: Int64, for account: String?, limit: Int
    ) throws -> Bool {
        guard CompositeIndex(path: index.path) == index, index.parts.count <= 10,
            try tables.composites(of: collection).count < Self.maximumCount
        else { return false }
        if let account, try count(of: collection, for: account) >= limit { return false }
        let number = try tables.makeField(index.path)
        try tables.sqlite.execute(
            "INSERT OR IGNORE INTO composite(collection, field, next) VALUES(?,?,x'')",
            [.integer(collection), .integer(number)])
        guard tables.sqlite.changedRowCount > 0 else { return false }
        if let account {
            try tables.sqlite.execute(
                "INSERT OR REPLACE INTO setting VALUES(?,?)",
                [.text("composite \(collection) \(number)"), .text(account)])
        }
        return true
    }

    /// Returns the number of indexes of a collection that were created for an account.
    private func count(of collection: Int64, for account: String) throws -> Int {
        let count = try tables.sqlite.first(
            """
            SELECT count(*) FROM composite c JOIN setting s ON s.name='composite '||c.collection||' '||c.field
            WHERE c.collection=? AND s.value=?
            """, [.integer(collection), .text(account)]
        ) { $0.int64(0) }
        return Int(clamping: count ?? 0)
    }

    /// Loads what `register` stored, once it is durable.
    mutating func registered() throws {
        let known = Set(progress.map { [$0.collection, $0.field] })
        progress += try Self.stored(in: tables).filter { !known.contains([$0.collection, $0.field]) }
    }

    private static func stored(in tables: DocumentTables) throws -> [CompositeProgress] {
        var progress: [CompositeProgress] = []
        try tables.sqlite.query("SELECT collection, field, next FROM composite WHERE next IS NOT NULL") { row in
            progress.append(CompositeProgress(collection: row.int64(0), field: row.int64(1), next: row.bytes(2)))
        }
        return progress
    }

    /// Returns the entries of the next documents of one index.
    ///
    /// - Parameter time: the time of the newest commit.
    mutating func next(at time: Int64) throws -> IndexChanges {
        var changes = IndexChanges()
        guard let place = progress.firstIndex(where: { $0.next != nil }), let first = progress[place].next else {
            return changes
        }
        let (collection, field) = (progress[place].collection, progress[place].field)
        let composites = try tables.composites(of: collection).map(\.column).filter { $0.number == field }
        var last: [UInt8]?
        try tables.sqlite.query(
            "SELECT sum, \(RowSum.document), document FROM document WHERE collection=? AND id>=? ORDER BY id LIMIT ?",
            [.integer(collection), .blob(first), .int(Self.step)]
        ) { row in
            let id = row.bytes(2)
            last = id
            // A damaged document gets no entries, because it cannot be read.
            guard row.isIntact(1..<6, sum: 0) else { return }
            let entries = IndexEntries(collection: collection, id: id, composites: composites, exempt: []) { _ in nil }
            for entry in try entries.rows(of: try EncodedFields(bytes: row.bytes(5)).decoded()) {
                changes.append(entry, document: row.int64(6), time: time)
            }
        }
        progress[place].next = last.map { $0 + [0] }
        return changes
    }

    /// Stores the progress for entries that are in the table now.
    func save(_ built: [CompositeProgress]) throws {
        for index in built {
            try tables.sqlite.execute(
                "UPDATE composite SET next=? WHERE collection=? AND field=?",
                [index.next.map { .blob($0) } ?? .null, .integer(index.collection), .integer(index.field)])
        }
    }

    /// Reports that what `save` stored is durable.
    mutating func saved(_ built: [CompositeProgress]) {
        let finished = Set(built.filter { $0.next == nil })
        progress.removeAll(where: finished.contains)
    }
}
