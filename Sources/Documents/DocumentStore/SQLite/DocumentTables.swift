import DocumentModel
import FirestoreProtocol
import SQLite

/// The tables of one database, read through one connection. Shared by the writer and the readers.
final class DocumentTables {
    /// The newest version of a document as stored.
    struct Row {
        let document: Int64
        let createTime: Int64
        let updateTime: Int64
        let fields: [UInt8]
    }

    let sqlite: SQLiteDatabase
    let name: DatabaseName
    var damage = DamageHandling.fails
    /// Called for damage that is skipped.
    var onDamage: @Sendable (StoredDataError) -> Void = { _ in }
    let tuning: QueryTuning
    var index: IndexTables { IndexTables(sqlite: sqlite) }
    /// The entries that overlay the index tables while a reader has its snapshot.
    var pending = PendingIndex.View()
    /// Called with a composite index from which a query would benefit.
    var onIndexSuggestion: @Sendable (_ collection: Int64, _ index: CompositeIndex, _ account: String?) -> Void = {
        _, _, _ in
    }
    /// The account on whose behalf documents are read; nil for the operator.
    var account: String?
    private var collectionNumbers: [[UInt8]: Int64] = [:]
    private var fieldNumbers: [[UInt8]: Int64] = [:]
    private var collectionPaths: [Int64: String] = [:]
    private var composites: [Int64: [CompositeIndex.Column]] = [:]
    /// The exempt fields by the ids of collections.
    private var exempt: [String: Set<String>]?

    /// The maximum size of the number caches. Numbers of further paths are looked up in the tables.
    private static let cacheLimit = 20_000

    init(_ sqlite: SQLiteDatabase, name: DatabaseName, tuning: QueryTuning = QueryTuning()) {
        self.sqlite = sqlite
        self.name = name
        self.tuning = tuning
    }

    /// Clears cached numbers that a rolled-back transaction may have assigned.
    func forgetNumbers() {
        collectionNumbers = [:]
        fieldNumbers = [:]
        collectionPaths = [:]
        composites = [:]
        exempt = nil
    }

    // MARK: Numbers of names

    func collection(_ path: String) throws -> Int64? { try collection(key: KeyBytes.path(path)) }

    func collection(key: [UInt8]) throws -> Int64? {
        if let known = collectionNumbers[key] { return known }
        let found = try sqlite.withStatement("SELECT collection FROM collection WHERE path=?") { statement in
            try statement.bind(1, key)
            return try statement.step() ? statement.int64(0) : nil
        }
        if let found { remember(found, forCollection: key) }
        return found
    }

    func remember(_ number: Int64, forCollection key: [UInt8]) {
        if collectionNumbers.count >= Self.cacheLimit { collectionNumbers = [:] }
        collectionNumbers[key] = number
    }

    func field(_ key: [UInt8]) throws -> Int64? {
        if let known = fieldNumbers[key] { return known }
        let found = try sqlite.withStatement("SELECT field FROM field WHERE path=?") { statement in
            try statement.bind(1, key)
            return try statement.step() ? statement.int64(0) : nil
        }
        if let found { remember(found, forField: key) }
        return found
    }

    func remember(_ number: Int64, forField key: [UInt8]) {
        if fieldNumbers.count >= Self.cacheLimit { fieldNumbers = [:] }
        fieldNumbers[key] = number
    }

    func makeField(_ key: [UInt8]) throws -> Int64 {
        if let known = try field(key) { return known }
        try sqlite.execute("INSERT INTO field(path) VALUES(?)", [.blob(key)])
        let number = sqlite.lastInsertedRowID
        remember(number, forField: key)
        return number
    }

    func collectionPath(_ number: Int64) throws -> String {
        if let known = collectionPaths[number] { return known }
        let path = try sqlite.first("SELECT path FROM collection WHERE collection=?", [.integer(number)]) { row in
            row.withBytes(0) { KeyBytes.decodePath($0) }
        }
        guard let path = path ?? nil else { throw StoredDataError.missingCollection(number) }
        if collectionPaths.count >= Self.cacheLimit { collectionPaths = [:] }
        collectionPaths[number] = path
        return path
    }

    // MARK: Documents

    private static let findByName = "SELECT sum, \(RowSum.document), document FROM document WHERE collection=? AND id=?"
    private static let findByNumber = "SELECT sum, \(RowSum.document) FROM document WHERE document=?"

    func row(collection: Int64, id: [UInt8]) throws -> Row? {
        try sqlite.withStatement(Self.findByName) { statement in
            try statement.bind(1, collection)
            try statement.bind(2, id)
            guard try statement.step(), try isIntact(statement, 1..<6, collection: 1) else { return nil }
            return Row(
                document: statement.int64(6), createTime: statement.int64(3), updateTime: statement.int64(4),
                fields: statement.bytes(5))
        }
    }

    /// Returns a document by its number.
    func document(_ number: Int64) throws -> (id: [UInt8], document: EncodedDocument)? {
        try sqlite.withStatement(Self.findByNumber) { statement in
            try statement.bind(1, number)
            guard try statement.step(), try isIntact(statement, 1..<6, collection: 1) else { return nil }
            let id = statement.bytes(2)
            let document = EncodedDocument(
                name: try name(collection: statement.int64(1), id: id), createTime: statement.int64(3),
                updateTime: statement.int64(4), fields: statement.bytes(5))
            return (id, document)
        }
    }

    /// Whether the checksum of a statement's current row, which is its first column, matches;
    /// `damage` decides what happens if not.
    ///
    /// - Parameter collection: the column of the collection's number. The document's id is in the
    ///   next column.
    func isIntact(_ row: SQLiteStatement, _ columns: Range<Int32>, collection: Int32) throws -> Bool {
        if row.isIntact(columns, sum: 0) { return true }
        let error = StoredDataError.damaged(label(collection: row.int64(collection), id: row.bytes(collection + 1)))
        guard damage == .isSkipped else { throw error }
        onDamage(error)
        return false
    }

    func row(_ name: DocumentName) throws -> Row? {
        guard let collection = try collection(name.collectionPath) else { return nil }
        return try row(collection: collection, id: Array(name.id.utf8))
    }

    /// Returns the newest version.
    func document(_ name: DocumentName) throws -> EncodedDocument? {
        try row(name).map { EncodedDocument(name: name, row: $0) }
    }

    func document(_ name: DocumentName, collection: Int64, id: [UInt8], at time: Int64) throws -> EncodedDocument? {
        if let row = try row(collection: collection, id: id), row.updateTime <= time {
            return EncodedDocument(name: name, row: row)
        }
        return try sqlite.withStatement(
            """
            SELECT sum, \(RowSum.change) FROM change
            WHERE collection=? AND id=? AND time>? AND update_time IS NOT NULL ORDER BY time LIMIT 1
            """
        ) { statement in
            try statement.bind(1, collection)
            try statement.bind(2, id)
            try statement.bind(3, time)
            guard try statement.step(), try isIntact(statement, 1..<7, collection: 2), statement.int64(5) <= time
            else { return nil }
            return EncodedDocument(
                name: name, createTime: statement.int64(4), updateTime: statement.int64(5), fields: statement.bytes(6))
        }
    }

    /// Returns a name for messages about a row that may be damaged.
    func label(collection: Int64, id: [UInt8]) -> String {
        let name = try? name(collection: collection, id: id)
        return name?.path ?? "a document of collection number \(collection)"
    }

    func name(collection: Int64, id: [UInt8]) throws -> DocumentName {
        let path = try collectionPath(collection)
        guard let id = String(validating: id, as: UTF8.self) else { throw StoredDataError.badID(collection) }
        return try DocumentName(database: name, path: "\(path)/\(id)")
    }

    // MARK: Composite indexes

    /// Returns the composite indexes of a collection, including those that are not complete yet.
    func composites(of collection: Int64) throws -> [(column: CompositeIndex.Column, isReady: Bool)] {
        var composites: [(CompositeIndex.Column, Bool)] = []
        try sqlite.query(
            "SELECT f.path, f.field, c.next IS NULL FROM composite c JOIN field f USING(field) WHERE c.collection=?",
            [.integer(collection)]
        ) { row in
            guard let index = CompositeIndex(path: row.bytes(0)) else { return }
            composites.append((CompositeIndex.Column(index: index, number: row.int64(1)), row.bool(2)))
        }
        return composites
    }

    /// Returns the composite indexes of a collection from a cache. Only for the writer, which alone
    /// changes them.
    func writtenComposites(of collection: Int64) throws -> [CompositeIndex.Column] {
        if let known = composites[collection] { return known }
        let found = try composites(of: collection).map(\.column)
        if composites.count >= Self.cacheLimit { composites = [:] }
        composites[collection] = found
        return found
    }

    /// Returns the number of a composite index that contains all documents of a collection; nil if
    /// it does not exist or is not complete.
    func readyComposite(_ index: CompositeIndex, of collection: Int64) throws -> Int64? {
        guard let number = try field(index.path) else { return nil }
        return try sqlite.withStatement(
            "SELECT 1 FROM composite WHERE collection=? AND field=? AND next IS NULL"
        ) { statement in
            try statement.bind(1, collection)
            try statement.bind(2, number)
            return try statement.step() ? number : nil
        }
    }

    // MARK: Exemptions

    func exemptions() throws -> Set<IndexExemption> {
        var exemptions = Set<IndexExemption>()
        try sqlite.query("SELECT collection, field FROM exemption") { row in
            exemptions.insert(IndexExemption(collectionID: row.text(0), field: row.text(1)))
        }
        return exemptions
    }

    /// Returns the fields of a collection's documents that are not indexed; see `IndexExemption`.
    func exemptFields(of collection: Int64) throws -> Set<String> {
        try exemptFields(ofCollectionsNamed: String(collectionPath(collection).split(separator: "/").last ?? ""))
    }

    func exemptFields(ofCollectionsNamed id: String) throws -> Set<String> {
        if let exempt { return exempt[id] ?? [] }
        let known = Dictionary(grouping: try exemptions(), by: \.collectionID).mapValues { Set($0.map(\.field)) }
        exempt = known
        return known[id] ?? []
    }

    // MARK: Settings

    /// Returns the time of the newest commit, and the time up to which the index table contains all
    /// commits.
    func progress() throws -> (visible: Int64, indexed: Int64) {
        try sqlite.withStatement(
            """
            SELECT (SELECT value FROM setting WHERE name='commit'), (SELECT value FROM setting WHERE name='indexed')
            """
        ) { statement in
            try statement.step() ? (statement.int64(0), statement.int64(1)) : (0, 0)
        }
    }

    func setting(_ name: String) throws -> Int64 {
        try sqlite.withStatement("SELECT value FROM setting WHERE name=?") { statement in
            try statement.bind(1, name)
            return try statement.step() ? statement.int64(0) : 0
        }
    }

    func setSetting(_ name: String, _ value: Int64) throws {
        try sqlite.withStatement("UPDATE setting SET value=? WHERE name=?") { statement in
            try statement.bind(1, value)
            try statement.bind(2, name)
            try statement.run()
        }
    }

    /// Whether a document was changed at a time. Also true if the time is before the log's horizon.
    func hasCommit(at time: Int64?) throws -> Bool {
        guard let time, try setting("horizon") < time else { return true }
        return try sqlite.first("SELECT 1 FROM change WHERE time=? LIMIT 1", [.integer(time)]) { _ in true } ?? false
    }

    func epoch() throws -> [UInt8] {
        try sqlite.first("SELECT value FROM setting WHERE name='epoch'") { $0.bytes(0) } ?? []
    }
}

extension EncodedDocument {
    init(name: DocumentName, row: DocumentTables.Row) {
        self.init(name: name, createTime: row.createTime, updateTime: row.updateTime, fields: row.fields)
    }
}
