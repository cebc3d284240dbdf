import DocumentStore
import FirestoreProtocol
import PostgreSQL

/// Composite indexes: their registration, and the entries of documents that are older than they.
///
/// Every method is called while the database's row is locked.
enum Composites {
    /// The number of documents per step, limited so that commits need not wait long.
    private static let step = 500
    /// The maximum number of indexes of a collection. Each one adds cost to every later write.
    private static let maximumCount = 16

    /// Returns the composite indexes of a collection, including those that are not complete yet.
    static func all(
        of collection: Int64, _ connection: PostgresConnection
    ) throws(PostgresError) -> [CompositeIndex.Column] {
        let rows = try connection.run(
            "SELECT f.path, f.field FROM ferry.composite c JOIN ferry.field f USING(field) WHERE c.collection=$1",
            [.integer(collection)])
        return (0..<rows.count).compactMap { row in
            CompositeIndex(path: rows.bytes(row, 0)).map {
                CompositeIndex.Column(index: $0, number: rows.integer(row, 1))
            }
        }
    }

    /// Registers an index, which every server's commits maintain from now on.
    ///
    /// Returns false if the index exists, if the collection has too many, or if `limit` indexes of
    /// the collection were created for the account.
    static func register(
        _ index: CompositeIndex, of collection: Int64, for account: String?, limit: Int,
        _ numbers: PathNumbers, _ connection: PostgresConnection
    ) throws(PostgresError) -> Bool {
        guard CompositeIndex(path: index.path) == index, index.parts.count <= 10 else { return false }
        let counts = try connection.run(
            "SELECT count(*), count(*) FILTER (WHERE account=$2) FROM ferry.composite WHERE collection=$1",
            [.integer(collection), account.map { .text($0) } ?? .text("")])
        guard counts.integer(0, 0) < Int64(maximumCount) else { return false }
        if account != nil, counts.integer(0, 1) >= Int64(limit) { return false }
        let number = try numbers.makeField(index.path, connection)
        let added = try connection.run(
            """
            INSERT INTO ferry.composite(collection, field, next, account) VALUES($1,$2,''::bytea,$3)
            ON CONFLICT (collection, field) DO NOTHING RETURNING 1
            """, [.integer(collection), .integer(number), account.map { .text($0) } ?? .text("")])
        guard added.count > 0 else { return false }
        try connection.run(
            "UPDATE ferry.database SET layout=layout+1 WHERE partition=$1", [.integer(numbers.partition)])
        return true
    }

    /// Adds the entries of the next documents of one index that lacks some. Returns false if none
    /// does.
    static func build(_ partition: Int64, _ connection: PostgresConnection) throws -> Bool {
        let rows = try connection.run(
            """
            SELECT i.collection, i.field, i.next FROM ferry.composite i JOIN ferry.collection c USING(collection)
            WHERE c.partition=$1 AND i.next IS NOT NULL LIMIT 1
            """, [.integer(partition)])
        guard rows.count > 0 else { return false }
        let (collection, field) = (rows.integer(0, 0), rows.integer(0, 1))
        let columns = try all(of: collection, connection).filter { $0.number == field }
        let documents = try connection.run(
            "SELECT id, document, fields FROM ferry.document WHERE collection=$1 AND id>=$2 ORDER BY id LIMIT $3",
            [.integer(collection), .bytes(rows.bytes(0, 2)), .integer(Int64(step))])
        var entries = EntryChanges()
        for row in 0..<documents.count {
            let entry = IndexEntries(
                collection: collection, id: documents.bytes(row, 0), composites: columns, exempt: []
            ) { _ in nil }
            for key in try entry.rows(of: try EncodedFields(bytes: documents.bytes(row, 2)).decoded()) {
                entries[key] = documents.integer(row, 1)
            }
        }
        let next: PostgresValue =
            documents.count == step ? .bytes(documents.bytes(documents.count - 1, 0) + [0]) : .null
        _ = try connection.run(
            entries.statements + [
                PostgresStatement(
                    "UPDATE ferry.composite SET next=$3::bytea WHERE collection=$1 AND field=$2",
                    [.integer(collection), .integer(field), next])
            ])
        return true
    }
}
