import DocumentModel
import DocumentStore
import FirestoreProtocol
import PostgreSQL

/// A snapshot of one database while its connection has a transaction of the level REPEATABLE READ.
final class PostgresSnapshot: StoreSnapshot {
    let name: DatabaseName
    let tuning: QueryTuning
    var damage = DamageHandling.fails
    /// The account on whose behalf documents are read; nil for the operator.
    var account: String?
    let connection: PostgresConnection
    private let partition: Int64
    private let storedHorizon: Int64
    private let numbers: PathNumbers
    private let onIndexSuggestion: @Sendable (Int64, CompositeIndex, String?) -> Void
    private let onDamage: @Sendable (StoredDataError) -> Void
    private var exempt: [String: Set<String>]?
    /// The documents that are about to be read, and those of them that have been read.
    private var upcoming: ArraySlice<DocumentName> = []
    private var fetched: [DocumentName: EncodedDocument?] = [:]
    /// The documents that were read together with the snapshot's time.
    private let present: [DocumentName: EncodedDocument?]

    /// The number of rows in the first batch of a scan, and in later ones.
    private static let batches = (first: 64, largest: 1024)
    private static let prefetchCount = 64

    init(
        _ database: DatabaseName, _ connection: PostgresConnection, numbers: PathNumbers, horizon: Int64,
        tuning: QueryTuning, present: [DocumentName: EncodedDocument?] = [:],
        onIndexSuggestion: @escaping @Sendable (Int64, CompositeIndex, String?) -> Void,
        onDamage: @escaping @Sendable (StoredDataError) -> Void
    ) {
        name = database
        self.present = present
        self.connection = connection
        self.numbers = numbers
        partition = numbers.partition
        storedHorizon = horizon
        self.tuning = tuning
        self.onIndexSuggestion = onIndexSuggestion
        self.onDamage = onDamage
    }

    // MARK: Numbers of names

    func collection(_ path: String) throws -> Int64? { try numbers.collection(KeyBytes.path(path), connection) }

    func field(_ key: [UInt8]) throws -> Int64? { try numbers.field(key, connection) }

    func name(collection: Int64, id: [UInt8]) throws -> DocumentName {
        try numbers.name(collection: collection, id: id, in: name, connection)
    }

    // MARK: Documents

    func prefetch(_ names: ArraySlice<DocumentName>) {
        upcoming = names
        fetched = [:]
    }

    func document(_ name: DocumentName) throws -> EncodedDocument? {
        if let known = present[name] ?? fetched[name] { return known }
        guard let place = upcoming.firstIndex(of: name) else { return try documents([name])[name] }
        let batch = upcoming[place...].prefix(Self.prefetchCount)
        upcoming = upcoming[batch.endIndex...]
        let found = try documents(batch)
        fetched = [:]
        for name in batch { fetched[name] = .some(found[name]) }
        return found[name]
    }

    private func documents(_ names: ArraySlice<DocumentName>) throws -> [DocumentName: EncodedDocument] {
        try StoredRow.read(names, numbers, connection).mapValues(\.document)
    }

    func document(_ name: DocumentName, collection: Int64, id: [UInt8], at time: Int64) throws -> EncodedDocument? {
        if let newest = try document(name), newest.updateTime.microseconds <= time { return newest }
        let rows = try connection.run(
            """
            SELECT create_time, update_time, fields FROM ferry.change
            WHERE collection=$1 AND id=$2 AND time>$3 AND update_time IS NOT NULL ORDER BY time LIMIT 1
            """, [.integer(collection), .bytes(id), .integer(time)])
        guard rows.count > 0, rows.integer(0, 1) <= time else { return nil }
        return EncodedDocument(
            name: name, createTime: rows.integer(0, 0), updateTime: rows.integer(0, 1), fields: rows.bytes(0, 2))
    }

    func readDocuments(
        of collection: Int64, from lower: [UInt8], below upper: [UInt8], descending: Bool,
        _ body: (_ id: [UInt8], EncodedDocument) throws -> Bool
    ) throws {
        let sql = """
            SELECT id, create_time, update_time, fields FROM ferry.document
            WHERE collection=$4 AND id>=$1 AND id<$2 ORDER BY id \(descending ? "DESC" : "ASC") LIMIT $3
            """
        try scan(sql, lower, upper, descending, [.integer(collection)]) { rows, row in
            let id = rows.bytes(row, 0)
            let document = EncodedDocument(
                name: try name(collection: collection, id: id), createTime: rows.integer(row, 1),
                updateTime: rows.integer(row, 2), fields: rows.bytes(row, 3))
            return try body(id, document)
        }
    }

    /// Reads rows in batches that grow. The first column is the key, `$1` and `$2` its bounds, and
    /// `$3` the size of the batch.
    private func scan(
        _ sql: String, _ lower: [UInt8], _ upper: [UInt8], _ descending: Bool, _ more: [PostgresValue] = [],
        _ body: (PostgresResult, Int) throws -> Bool
    ) throws {
        var (lower, upper, size) = (lower, upper, Self.batches.first)
        while true {
            let rows = try connection.run(
                sql, [.bytes(lower), .bytes(upper), .integer(Int64(size))] + more)
            for row in 0..<rows.count {
                guard try body(rows, row) else { return }
            }
            guard rows.count == size else { return }
            let last = rows.bytes(rows.count - 1, 0)
            if descending { upper = last } else { lower = last + [0] }
            size = min(4 * size, Self.batches.largest)
        }
    }

    // MARK: Index

    func readEntries(
        from lower: [UInt8], below upper: [UInt8], descending: Bool,
        _ body: (_ row: [UInt8], _ id: [UInt8], EncodedDocument) throws -> Bool
    ) throws {
        let order = descending ? "DESC" : "ASC"
        let sql = """
            SELECT e.row, e.document, d.collection, d.id, d.create_time, d.update_time, d.fields
            FROM (SELECT row, document FROM ferry.entry WHERE row>=$1 AND row<$2 ORDER BY row \(order) LIMIT $3) e
            LEFT JOIN ferry.document d ON d.document=e.document ORDER BY e.row \(order)
            """
        try scan(sql, lower, upper, descending) { rows, row in
            guard !rows.isNull(row, 2) else {
                if damage == .isSkipped { return true }
                throw StoredDataError.missingDocument(rows.integer(row, 1))
            }
            let id = rows.bytes(row, 3)
            let document = EncodedDocument(
                name: try name(collection: rows.integer(row, 2), id: id), createTime: rows.integer(row, 4),
                updateTime: rows.integer(row, 5), fields: rows.bytes(row, 6))
            return try body(rows.bytes(row, 0), id, document)
        }
    }

    func estimateEntries(from lower: [UInt8], below upper: [UInt8], limit: Int) throws -> Int {
        let rows = try connection.run(
            "SELECT count(*) FROM (SELECT 1 FROM ferry.entry WHERE row>=$1 AND row<$2 LIMIT $3) e",
            [.bytes(lower), .bytes(upper), .integer(Int64(clamping: limit) + 1)])
        return Int(clamping: rows.integer(0, 0))
    }

    func exemptFields(of collection: Int64) throws -> Set<String> {
        let id = String(try numbers.path(of: collection, connection).split(separator: "/").last ?? "")
        if let exempt { return exempt[id] ?? [] }
        let known = try Exemptions.stored(partition, connection)
        exempt = known
        return known[id] ?? []
    }

    func readyComposite(_ index: CompositeIndex, of collection: Int64) throws -> Int64? {
        guard let number = try field(index.path) else { return nil }
        let rows = try connection.run(
            "SELECT 1 FROM ferry.composite WHERE collection=$1 AND field=$2 AND next IS NULL",
            [.integer(collection), .integer(number)])
        return rows.count > 0 ? number : nil
    }

    func suggest(_ index: CompositeIndex, of collection: Int64) { onIndexSuggestion(collection, index, account) }

    // MARK: Collections

    func collections(from lower: [UInt8], below upper: [UInt8], named id: [UInt8]?) throws -> [Int64] {
        var sql = """
            SELECT collection FROM ferry.collection WHERE partition=$1 AND substring(path, 1, \(PostgresSchema.pathHead))
            BETWEEN $2 AND $3 AND path>=$4 AND path<$5
            """
        if id != nil { sql += " AND name=$6" }
        let rows = try connection.run(sql, range(lower, upper) + (id.map { [.bytes($0)] } ?? []))
        return (0..<rows.count).map { rows.integer($0, 0) }
    }

    func firstCollection(from lower: [UInt8], below upper: [UInt8]) throws -> [UInt8]? {
        let rows = try connection.run(
            """
            SELECT path FROM ferry.collection WHERE partition=$1 AND substring(path, 1, \(PostgresSchema.pathHead))
            BETWEEN $2 AND $3 AND path>=$4 AND path<$5
            ORDER BY substring(path, 1, \(PostgresSchema.pathHead)), path LIMIT 1
            """, range(lower, upper))
        return rows.count > 0 ? rows.bytes(0, 0) : nil
    }

    private func range(_ lower: [UInt8], _ upper: [UInt8]) -> [PostgresValue] {
        let head = PostgresSchema.pathHead
        return [
            .integer(partition), .bytes(Array(lower.prefix(head))), .bytes(Array(upper.prefix(head))), .bytes(lower),
            .bytes(upper),
        ]
    }

    func holdsDocuments(_ collection: Int64, at time: Int64) throws -> Bool {
        let rows = try connection.run(
            """
            SELECT EXISTS(SELECT 1 FROM ferry.document WHERE collection=$1 AND create_time<=$2) OR EXISTS(
                SELECT 1 FROM ferry.change WHERE partition=$3 AND time>$2 AND collection=$1 AND update_time<=$2)
            """, [.integer(collection), .integer(time), .integer(partition)])
        return rows.boolean(0, 0)
    }

    // MARK: Log

    func horizon() -> Int64 { storedHorizon }

    func hasCommit(at time: Int64?) throws -> Bool {
        guard let time, storedHorizon < time else { return true }
        return try connection.run(
            "SELECT 1 FROM ferry.change WHERE partition=$1 AND time=$2 LIMIT 1", [.integer(partition), .integer(time)]
        ).count > 0
    }

    func changeCount(after start: Int64, through end: Int64, limit: Int) throws -> Int {
        let rows = try connection.run(
            """
            SELECT count(*) FROM (
                SELECT FROM ferry.change WHERE partition=$1 AND time>$2 AND time<=$3 LIMIT $4) changes
            """, [.integer(partition), .integer(start), .integer(end), .integer(Int64(limit))])
        return Int(clamping: rows.integer(0, 0))
    }

    func readChangedDocuments(
        after start: Int64, through end: Int64, _ body: (_ collection: Int64, _ id: [UInt8]) throws -> Bool
    ) throws {
        var last = (time: start, number: Int64.max)
        while true {
            let rows = try connection.run(
                """
                SELECT time, number, collection, id FROM ferry.change
                WHERE partition=$1 AND (time, number)>($2, $3) AND time<=$4 ORDER BY time, number LIMIT $5
                """,
                [
                    .integer(partition), .integer(last.time), .integer(last.number), .integer(end),
                    .integer(Int64(Self.batches.largest)),
                ])
            for row in 0..<rows.count {
                guard try body(rows.integer(row, 2), rows.bytes(row, 3)) else { return }
            }
            guard rows.count == Self.batches.largest else { return }
            last = (rows.integer(rows.count - 1, 0), rows.integer(rows.count - 1, 1))
        }
    }

    func readChanges(after start: Int64, through end: Int64, _ body: (StoredChange) throws -> Bool) throws {
        var last = (time: start, number: Int64.max)
        while true {
            let rows = try connection.run(
                """
                SELECT time, number, collection, id, create_time, update_time, fields FROM ferry.change
                WHERE partition=$1 AND (time, number)>($2, $3) AND time<=$4 ORDER BY time, number LIMIT $5
                """,
                [
                    .integer(partition), .integer(last.time), .integer(last.number), .integer(end),
                    .integer(Int64(Self.batches.first)),
                ])
            let changes = (0..<rows.count).map { row in
                var replaced: StoredChange.Version?
                if !rows.isNull(row, 5) {
                    replaced = StoredChange.Version(
                        createTime: rows.integer(row, 4), updateTime: rows.integer(row, 5), fields: rows.bytes(row, 6))
                }
                return StoredChange(
                    time: rows.integer(row, 0), collection: rows.integer(row, 2), id: rows.bytes(row, 3),
                    replaced: replaced)
            }
            // The caller is about to read the documents as well.
            prefetch(try changes.map { try name(collection: $0.collection, id: $0.id) }[...])
            for change in changes {
                guard try body(change) else { return }
            }
            guard rows.count == Self.batches.first else { return }
            last = (rows.integer(rows.count - 1, 0), rows.integer(rows.count - 1, 1))
        }
    }

    // MARK: Accounts

    func documentCount(of owner: String) throws -> Int64 {
        let rows = try connection.run(
            "SELECT documents FROM ferry.usage WHERE partition=$1 AND owner=$2",
            [.integer(partition), .bytes(Array(owner.utf8))])
        return rows.integer(0, 0)
    }

    func reportDamage(_ error: StoredDataError) { onDamage(error) }
}

/// The newest version of a document as stored.
struct StoredRow {
    let number: Int64
    let collection: Int64
    let document: EncodedDocument
    /// The user whose quota the document counts toward, if it does not name one itself.
    let owner: String?

    /// Returns those of the documents that exist.
    static func read(
        _ names: some Collection<DocumentName>, _ numbers: PathNumbers, _ connection: PostgresConnection
    ) throws(PostgresError) -> [DocumentName: StoredRow] {
        let names = Array(names)
        guard !names.isEmpty, let rows = try connection.run([reading(names, numbers)]).last else { return [:] }
        return Self.rows(names, in: rows, numbers)
    }

    /// Returns the statement that reads documents; see `rows(_:in:_:)`. It looks collections up only if the number of
    /// one of them is not known.
    static func reading(_ names: [DocumentName], _ numbers: PathNumbers) -> PostgresStatement {
        let paths = names.map { KeyBytes.path($0.collectionPath) }
        let ids = PostgresValue.blobs(names.map { Array($0.id.utf8) })
        let known = paths.compactMap { numbers.known(collection: $0) }
        if known.count == paths.count {
            return PostgresStatement(
                """
                SELECT n.number, d.document, d.collection, d.create_time, d.update_time, d.fields, d.owner
                FROM unnest($1::bigint[], $2::bytea[]) WITH ORDINALITY n(collection, id, number)
                JOIN ferry.document d ON d.collection=n.collection AND d.id=n.id
                """, [.integers(known), ids])
        }
        return PostgresStatement(
            """
            SELECT n.number, d.document, d.collection, d.create_time, d.update_time, d.fields, d.owner
            FROM unnest($2::bytea[], $3::bytea[]) WITH ORDINALITY n(path, id, number)
            JOIN ferry.collection c ON c.partition=$1 AND sha256(c.path)=sha256(n.path)
            JOIN ferry.document d ON d.collection=c.collection AND d.id=n.id
            """, [.integer(numbers.partition), .blobs(paths), ids])
    }

    /// Returns those of the documents that exist, from the result of `reading(_:_:)`, and remembers the numbers of
    /// their collections.
    static func rows(
        _ names: [DocumentName], in rows: PostgresResult, _ numbers: PathNumbers
    ) -> [DocumentName: StoredRow] {
        var found: [DocumentName: StoredRow] = [:]
        for row in 0..<rows.count {
            let place = rows.integer(row, 0)
            guard place >= 1, place <= Int64(names.count) else { continue }
            let name = names[Int(place) - 1]
            let path = KeyBytes.path(name.collectionPath)
            if numbers.known(collection: path) == nil {
                numbers.remember(rows.integer(row, 2), forCollection: path)
            }
            found[name] = StoredRow(
                number: rows.integer(row, 1), collection: rows.integer(row, 2),
                document: EncodedDocument(
                    name: name, createTime: rows.integer(row, 3), updateTime: rows.integer(row, 4),
                    fields: rows.bytes(row, 5)),
                owner: rows.isNull(row, 6) ? nil : rows.text(row, 6))
        }
        return found
    }
}
