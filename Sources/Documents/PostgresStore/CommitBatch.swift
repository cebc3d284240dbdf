import Cryptography
import DocumentModel
import DocumentStore
import FirestoreProtocol
import PostgreSQL

/// The commits of one transaction of the database, applied in memory over the rows that they need.
///
/// The database's row is locked meanwhile, so that no other server changes what was read. Nothing is
/// written before `statements` are run.
final class CommitBatch {
    private let database: DatabaseName
    private let connection: PostgresConnection
    private let caches: WriterCaches
    private var partition: Int64 { caches.numbers.partition }
    /// The documents that were read or written, as they are after the commits so far; nil for those
    /// that do not exist.
    private var rows: [DocumentName: StoredRow?] = [:]
    private var written: [Int64: StoredRow] = [:]
    private var deleted: [Int64] = []
    private var changes: [(time: Int64, number: Int64, collection: Int64, id: [UInt8], replaced: EncodedDocument?)] = []
    private var entries = EntryChanges()
    private var owned: [String: Int64] = [:]
    private var positions: [(StreamPosition, CommitResult)] = []
    private(set) var newest: Int64

    /// Creates a batch of commits that are later than `time`.
    init(_ database: DatabaseName, after time: Int64, _ caches: WriterCaches, _ connection: PostgresConnection) {
        self.database = database
        self.connection = connection
        self.caches = caches
        newest = time
    }

    // MARK: Reading

    /// Reads the documents that are not known yet.
    func load(_ names: some Sequence<DocumentName>) throws(PostgresError) {
        var missing = Set<DocumentName>()
        for name in names where rows[name] == nil { missing.insert(name) }
        let found = try StoredRow.read(missing, caches.numbers, connection)
        for name in missing { rows[name] = .some(found[name]) }
    }

    private func row(_ name: DocumentName) throws(PostgresError) -> StoredRow? {
        if rows[name] == nil { try load([name]) }
        return rows[name] ?? nil
    }

    func document(_ name: DocumentName) throws -> Document? { try row(name).map { try Document($0.document) } }

    /// Returns the number of documents that a user owns.
    func count(of owner: String) throws(PostgresError) -> Int64 {
        let stored = try connection.run(
            "SELECT documents FROM ferry.usage WHERE partition=$1 AND owner=$2",
            [.integer(partition), .bytes(Array(owner.utf8))])
        return max(0, stored.integer(0, 0) + (owned[owner] ?? 0))
    }

    /// Returns the documents below a document at any depth, at most `limit`.
    func documents(below root: DocumentName, limit: Int) throws -> [Document] {
        let lower = KeyBytes.path(root.path)
        guard let upper = KeyBytes.successor(ofPrefix: lower) else { return [] }
        let head = PostgresSchema.pathHead
        let found = try connection.run(
            """
            SELECT d.collection, d.id, d.create_time, d.update_time, d.fields
            FROM ferry.collection c JOIN ferry.document d USING(collection)
            WHERE c.partition=$1 AND substring(c.path, 1, \(head)) BETWEEN $2 AND $3 AND c.path>=$4 AND c.path<$5
            LIMIT $6
            """,
            [
                .integer(partition), .bytes(Array(lower.prefix(head))), .bytes(Array(upper.prefix(head))),
                .bytes(lower), .bytes(upper), .integer(Int64(clamping: limit)),
            ])
        var documents: [Document] = []
        for row in 0..<found.count {
            let id = found.bytes(row, 1)
            let name = try caches.numbers.name(
                collection: found.integer(row, 0), id: id, in: database, connection)
            guard rows[name] == nil else { continue }
            documents.append(
                try Document(
                    EncodedDocument(
                        name: name, createTime: found.integer(row, 2), updateTime: found.integer(row, 3),
                        fields: found.bytes(row, 4))))
        }
        let parent = ParentName(root)
        for case let (name, row?) in rows where parent.isAncestor(of: name) {
            documents.append(try Document(row.document))
        }
        return Array(documents.prefix(limit))
    }

    /// Returns the result of the commit at a position; nil if there was none.
    ///
    /// - Throws: `.otherCommit` if a different commit was made there.
    func result(at position: StreamPosition) throws -> CommitResult? {
        if let (other, result) = positions.first(where: {
            $0.0.stream == position.stream && $0.0.number == position.number
        }) {
            guard other.digest == position.digest else { throw DocumentStoreError.otherCommit }
            return result
        }
        let rows = try connection.run(
            "SELECT digest, response FROM ferry.stream WHERE partition=$1 AND stream=$2 AND number=$3",
            [.integer(partition), .bytes(Array(position.stream.utf8)), .integer(position.number)])
        guard rows.count > 0 else { return nil }
        guard rows.bytes(0, 0) == position.digest else { throw DocumentStoreError.otherCommit }
        let response = try CommitResponse(decoding: rows.bytes(0, 1))
        return CommitResult(
            writeResults: response.writeResults, commitTime: response.commitTime ?? Timestamp(microseconds: 0))
    }

    // MARK: Applying

    /// Applies a commit that was admitted.
    func apply(
        _ effects: [CommitEffects.Effect], _ record: CommitRecord, _ result: CommitResult, at position: StreamPosition?
    ) throws {
        newest = record.time.microseconds
        for (effect, change) in zip(effects, record.changes) { try store(effect, change.encoded, in: effects) }
        if let position { positions.append((position, result)) }
    }

    private func store(
        _ effect: CommitEffects.Effect, _ encoded: EncodedDocument?, in effects: [CommitEffects.Effect]
    ) throws {
        let name = effect.name
        let before = try row(name)
        if before == nil, encoded == nil { return }
        let collection =
            try before?.collection
            ?? caches.numbers.makeCollection(KeyBytes.path(name.collectionPath), id: name.collectionID, connection)
        let id = Array(name.id.utf8)
        changes.append((newest, Int64(changes.count), collection, id, before?.document))
        let transfer = try DocumentOwner.transfer(effect, inherited: { before?.owner }) { top in
            if let other = effects.first(where: { $0.name == top }) { return other.after?.fields }
            return try document(top)?.fields
        }
        if let from = transfer?.from { owned[from, default: 0] -= 1 }
        if let to = transfer?.to { owned[to, default: 0] += 1 }
        let number = try before?.number ?? caches.nextDocument(connection)
        try index(effect, collection: collection, id: id, number: number)
        guard let encoded else {
            written[number] = nil
            deleted.append(number)
            rows[name] = .some(nil)
            return
        }
        let after = StoredRow(
            number: number, collection: collection, document: encoded,
            owner: transfer.map(\.isInherited) ?? before?.owner)
        written[number] = after
        rows[name] = after
    }

    private func index(
        _ effect: CommitEffects.Effect, collection: Int64, id: [UInt8], number: Int64
    ) throws {
        let entries = IndexEntries(
            collection: collection, id: id, composites: try caches.composites(of: collection, connection),
            exempt: try caches.exemptFields(ofCollectionsNamed: effect.name.collectionID, connection)
        ) { [caches, connection] in try caches.numbers.makeField($0, connection) }
        let (gone, new) = try entries.difference(from: effect.before?.fields, to: effect.after?.fields)
        for row in gone { self.entries[row] = 0 }
        for row in new { self.entries[row] = number }
    }

    // MARK: Storing

    /// The statements that store the batch.
    ///
    /// - Parameter token: by which the batch is recognized if the answer to COMMIT is lost.
    func statements(token: [UInt8]) -> [PostgresStatement] {
        var statements: [PostgresStatement] = []
        if !changes.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    INSERT INTO ferry.change(partition, time, number, collection, id, create_time, update_time, fields)
                    SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bigint[],
                        $7::bigint[], $8::bytea[])
                    """,
                    [
                        .integer(partition), .integers(changes.map(\.time)), .integers(changes.map(\.number)),
                        .integers(changes.map(\.collection)), .blobs(changes.map(\.id)),
                        .integers(changes.map { $0.replaced?.createTime.microseconds }),
                        .integers(changes.map { $0.replaced?.updateTime.microseconds }),
                        .blobs(changes.map { $0.replaced?.fields.bytes }),
                    ]))
        }
        if !deleted.isEmpty {
            statements.append(
                PostgresStatement("DELETE FROM ferry.document WHERE document=ANY($1)", [.integers(deleted)]))
        }
        if !written.isEmpty {
            let rows = written.values.sorted { $0.number < $1.number }
            statements.append(
                PostgresStatement(
                    """
                    INSERT INTO ferry.document(document, collection, id, create_time, update_time, fields, owner)
                    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[], $5::bigint[],
                        $6::bytea[], $7::bytea[])
                    ON CONFLICT (document) DO UPDATE SET create_time=excluded.create_time,
                        update_time=excluded.update_time, fields=excluded.fields, owner=excluded.owner
                    """,
                    [
                        .integers(rows.map(\.number)), .integers(rows.map(\.collection)),
                        .blobs(rows.map { Array($0.document.name.id.utf8) }),
                        .integers(rows.map(\.document.createTime.microseconds)),
                        .integers(rows.map(\.document.updateTime.microseconds)),
                        .blobs(rows.map(\.document.fields.bytes)),
                        .blobs(rows.map { row in row.owner.map { Array($0.utf8) } }),
                    ]))
        }
        statements += entries.statements
        let owners = owned.filter { $0.value != 0 }.sorted { $0.key < $1.key }
        if !owners.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    INSERT INTO ferry.usage AS u(partition, owner, documents)
                    SELECT $1, * FROM unnest($2::bytea[], $3::bigint[])
                    ON CONFLICT (partition, owner) DO UPDATE SET documents=greatest(0, u.documents+excluded.documents)
                    """,
                    [.integer(partition), .blobs(owners.map { Array($0.key.utf8) }), .integers(owners.map(\.value))]))
        }
        for (position, result) in positions {
            let response = CommitResponse(writeResults: result.writeResults, commitTime: result.commitTime)
            statements.append(
                PostgresStatement(
                    "INSERT INTO ferry.stream(partition, stream, number, time, digest, response) VALUES($1,$2,$3,$4,$5,$6)",
                    [
                        .integer(partition), .bytes(Array(position.stream.utf8)), .integer(position.number),
                        .integer(result.commitTime.microseconds), .bytes(position.digest), .bytes(response.encoded()),
                    ]))
        }
        statements.append(
            PostgresStatement(
                "INSERT INTO ferry.batch(partition, time, token) VALUES($1,$2,$3)",
                [.integer(partition), .integer(newest), .bytes(token)]))
        statements.append(
            PostgresStatement(
                "UPDATE ferry.database SET clock=$2 WHERE partition=$1", [.integer(partition), .integer(newest)]))
        return statements
    }
}

/// Caches of what a writer has read in earlier transactions. Used on its thread only.
final class WriterCaches {
    let numbers: PathNumbers
    private var composites: [Int64: [CompositeIndex.Column]] = [:]
    private var exempt: [String: Set<String>]?
    /// The numbers for new documents that are left.
    private var documents: Range<Int64> = 0..<0
    /// The maximum number of collections whose composite indexes are kept.
    private static let limit = 20_000
    /// The increment of the sequence of numbers.
    private static let block: Int64 = 1000

    init(partition: Int64) {
        numbers = PathNumbers(partition: partition)
    }

    /// Forgets everything that a transaction that was rolled back, or another server, may have
    /// changed.
    func forget() {
        numbers.forget()
        composites = [:]
        exempt = nil
    }

    func composites(
        of collection: Int64, _ connection: PostgresConnection
    ) throws(PostgresError) -> [CompositeIndex.Column] {
        if let known = composites[collection] { return known }
        let found = try Composites.all(of: collection, connection)
        if composites.count >= Self.limit { composites = [:] }
        composites[collection] = found
        return found
    }

    func exemptFields(
        ofCollectionsNamed id: String, _ connection: PostgresConnection
    ) throws(PostgresError) -> Set<String> {
        if let exempt { return exempt[id] ?? [] }
        let known = try Exemptions.stored(numbers.partition, connection)
        exempt = known
        return known[id] ?? []
    }

    /// Returns the number for a new document. Numbers need no order, and those of a transaction that
    /// was rolled back are not used again.
    func nextDocument(_ connection: PostgresConnection) throws(PostgresError) -> Int64 {
        if documents.isEmpty {
            let first = try connection.run("SELECT nextval('ferry.document_number')").integer(0, 0)
            documents = first..<(first &+ Self.block)
        }
        let number = documents.lowerBound
        documents = (number &+ 1)..<documents.upperBound
        return number
    }
}
