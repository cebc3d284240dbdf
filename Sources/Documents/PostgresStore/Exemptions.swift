import DocumentStore
import FirestoreProtocol
import PostgreSQL

/// The fields that are not indexed; see `IndexExemption`.
enum Exemptions {
    /// Returns the exempt fields by the ids of collections.
    static func stored(
        _ partition: Int64, _ connection: PostgresConnection
    ) throws(PostgresError) -> [String: Set<String>] {
        let rows = try connection.run(
            "SELECT collection, field FROM ferry.exemption WHERE partition=$1", [.integer(partition)])
        var known: [String: Set<String>] = [:]
        for row in 0..<rows.count { known[rows.text(row, 0), default: []].insert(rows.text(row, 1)) }
        return known
    }

    /// Sets the exemptions of a database. If they change for a collection, its index is rebuilt in
    /// the same transaction, while commits wait.
    static func set(
        _ wanted: Set<IndexExemption>, _ partition: Int64, _ connection: PostgresConnection
    ) throws {
        try connection.run("BEGIN")
        do {
            try connection.run(
                "SELECT layout FROM ferry.database WHERE partition=$1 FOR UPDATE", [.integer(partition)])
            let stored = try stored(partition, connection)
            let new = Dictionary(grouping: wanted, by: \.collectionID).mapValues { Set($0.map(\.field)) }
            if stored != new { try change(from: stored, to: new, partition, connection) }
            try connection.run("COMMIT")
        } catch {
            _ = try? connection.run("ROLLBACK")
            throw error
        }
    }

    private static func change(
        from stored: [String: Set<String>], to new: [String: Set<String>], _ partition: Int64,
        _ connection: PostgresConnection
    ) throws {
        try connection.run("DELETE FROM ferry.exemption WHERE partition=$1", [.integer(partition)])
        for (collection, fields) in new {
            for field in fields {
                try connection.run(
                    "INSERT INTO ferry.exemption VALUES($1,$2,$3)",
                    [.integer(partition), .text(collection), .text(field)])
            }
        }
        try connection.run(
            "UPDATE ferry.database SET layout=layout+1 WHERE partition=$1", [.integer(partition)])
        let numbers = PathNumbers(partition: partition)
        for id in Set(stored.keys).union(new.keys) where stored[id] != new[id] {
            let rows = try connection.run(
                "SELECT collection FROM ferry.collection WHERE partition=$1 AND name=$2",
                [.integer(partition), .bytes(Array(id.utf8))])
            for row in 0..<rows.count {
                try rebuild(rows.integer(row, 0), exempt: new[id] ?? [], numbers, connection)
            }
        }
    }

    private static func rebuild(
        _ collection: Int64, exempt: Set<String>, _ numbers: PathNumbers, _ connection: PostgresConnection
    ) throws {
        let prefix = IndexEntries.prefix(collection: collection)
        try connection.run(
            "DELETE FROM ferry.entry WHERE row>=$1 AND row<$2",
            [.bytes(prefix), .bytes(KeyBytes.successor(ofPrefix: prefix) ?? [0xFF])])
        let composites = try Composites.all(of: collection, connection)
        var last: [UInt8] = []
        while true {
            let rows = try connection.run(
                "SELECT id, document, fields FROM ferry.document WHERE collection=$1 AND id>=$2 ORDER BY id LIMIT 500",
                [.integer(collection), .bytes(last)])
            var entries = EntryChanges()
            for row in 0..<rows.count {
                let entry = IndexEntries(
                    collection: collection, id: rows.bytes(row, 0), composites: composites, exempt: exempt
                ) { try numbers.makeField($0, connection) }
                for key in try entry.rows(of: try EncodedFields(bytes: rows.bytes(row, 2)).decoded()) {
                    entries[key] = rows.integer(row, 1)
                }
            }
            _ = try connection.run(entries.statements)
            guard rows.count == 500 else { return }
            last = rows.bytes(rows.count - 1, 0) + [0]
        }
    }
}

/// Changes of the index: the number of the document that has an entry, or 0 if it is removed.
struct EntryChanges {
    private var documents: [[UInt8]: Int64] = [:]

    subscript(row: [UInt8]) -> Int64? {
        get { documents[row] }
        set { documents[row] = newValue }
    }

    var count: Int { documents.count }

    /// The statements that store the changes.
    var statements: [PostgresStatement] {
        var statements: [PostgresStatement] = []
        let gone = documents.filter { $0.value == 0 }.map(\.key)
        // In the order of their places in the index, so that each page is touched once.
        let new = documents.filter { $0.value != 0 }.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        if !gone.isEmpty {
            statements.append(
                PostgresStatement("DELETE FROM ferry.entry WHERE row=ANY($1)", [.blobs(gone)]))
        }
        if !new.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    INSERT INTO ferry.entry(row, document) SELECT * FROM unnest($1::bytea[], $2::bigint[])
                    ON CONFLICT (row) DO UPDATE SET document=excluded.document
                    """, [.blobs(new.map(\.key)), .integers(new.map(\.value))]))
        }
        return statements
    }
}
