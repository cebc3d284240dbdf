import DocumentModel
import FirestoreProtocol
import SQLite

/// Reads what a replica shows: documents with the unsent mutations applied, the feed of their changes, and the
/// mutations themselves.
struct ReplicaReader {
    let file: ReplicaFile

    private var database: SQLiteDatabase { file.database }
    private var databaseName: DatabaseName { file.databaseName }

    /// Returns the document as this replica sees it.
    func snapshot(_ name: DocumentName) throws -> DocumentSnapshot {
        try snapshot(name, row: try file.row(name.path))
    }

    private func snapshot(
        _ name: DocumentName, row: DocumentRow?, only keys: Set<String>? = nil
    ) throws -> DocumentSnapshot {
        let chain = file.journal.sequences(of: name.path)
        // A document that no target contains any more is shown only if there are mutations of it.
        let isHidden = row?.state == .outside && chain.isEmpty
        let base = isHidden ? .missing : try file.base(row, only: keys)
        var view = LocalView(fields: base.fields)
        for sequence in chain { view.apply(try file.mutation(sequence)) }
        return DocumentSnapshot(
            name: name, view: view, createTime: base.updateTime == nil ? nil : row?.created,
            updateTime: base.updateTime, hasPendingWrites: !chain.isEmpty,
            hasParkedWrites: chain.contains { file.journal.entries[$0]?.isParked == true },
            isAwaited: try row?.isDamaged == true && (chain.first.map { try file.mutation($0).hasMask } ?? true))
    }

    /// Returns the documents of this replica that match a query, in its order. Reads the query's
    /// collections, one document at a time.
    ///
    /// - Parameter isCounted: Whether a document is among the results, of which there are at most as many
    ///   as the query's limit.
    func results(
        of plan: QueryPlan, where isCounted: (DocumentSnapshot) -> Bool = { _ in true }
    ) throws -> [DocumentSnapshot] {
        var found: [(DocumentSnapshot, Document)] = []
        try database.snapshot {
            try forEachDocument(in: plan) { snapshot in
                guard snapshot.exists, isCounted(snapshot) else { return }
                let document = snapshot.document
                if plan.matches(document) { found.append((snapshot, document)) }
            }
        }
        found.sort { plan.compare($0.1, $1.1) < 0 }
        let rest = found.dropFirst(Int(clamping: plan.query.offset))
        let results = Array(rest.prefix(plan.query.limit.map { Int(clamping: $0) } ?? rest.count))
        guard let nearest = plan.query.findNearest else { return results.map(\.0) }
        return nearest.ranking(of: results.map(\.1)).map { results[$0.index].0 }
    }

    /// Returns the documents without local changes that match a query, are as they were at a time or
    /// before, and are in none of the given targets; in no order.
    func results(of plan: QueryPlan, outside targets: Set<Int32>, until time: Timestamp) throws -> [Document] {
        let ids = targets.sorted().map(String.init).joined(separator: ",")
        let condition = """
            state=2 AND NOT EXISTS(
                SELECT 1 FROM client_member WHERE document=client_document.id AND target IN (\(ids)))
            """
        var found: [Document] = []
        try forEachDocument(in: plan, where: condition) { snapshot in
            guard !snapshot.hasPendingWrites, let version = snapshot.updateTime, version <= time else { return }
            let document = snapshot.document
            if plan.matches(document) { found.append(document) }
        }
        return found
    }

    /// Returns a page of results; see `ReplicaTransaction`. The query must be of one collection;
    /// its order, offset and limit are ignored.
    func results(
        of plan: QueryPlan, only keys: Set<String>, after row: Int64, limit: Int
    ) throws -> (found: [DocumentSnapshot], last: Int64)? {
        let collection = plan.query.parent.collectionPath(plan.query.collectionID ?? "")
        // In the order of the file: in the order of names, each row would be on another page.
        let sql = "SELECT \(DocumentRow.columns) FROM client_document WHERE +collection=? AND id>? ORDER BY id LIMIT ?"
        let keys = keys.union(plan.fieldKeys)
        var found: [DocumentSnapshot] = []
        var last: Int64?
        try database.query(sql, [.text(collection), .integer(row), .int(limit)]) { row in
            last = row.int64(0)
            guard let snapshot = try snapshot(row, in: plan, only: keys), snapshot.exists else { return }
            if plan.matches(snapshot.document) { found.append(snapshot) }
        }
        return last.map { (found, $0) }
    }

    private func snapshot(
        _ row: SQLiteStatement, in plan: QueryPlan, only keys: Set<String>? = nil
    ) throws -> DocumentSnapshot? {
        let document = try DocumentRow(row)
        let path = "\(row.text(3))/\(row.text(4))"
        guard document.state == .exists || !file.journal.sequences(of: path).isEmpty else { return nil }
        let name = try DocumentName(database: databaseName, path: path)
        return plan.isInScope(name) ? try snapshot(name, row: document, only: keys) : nil
    }

    private func forEachDocument(
        in plan: QueryPlan, where condition: String = "true", _ body: (DocumentSnapshot) throws -> Void
    ) throws {
        var sql = "SELECT \(DocumentRow.columns) FROM client_document"
        var values: [SQLiteValue] = []
        if let id = plan.query.collectionID, !id.isEmpty {
            if plan.query.allDescendants {
                // Jumps from each collection to the next by the index, without reading the
                // documents of other collections.
                sql = """
                    WITH RECURSIVE known(collection) AS (
                        SELECT min(collection) FROM client_document UNION ALL
                        SELECT (SELECT min(collection) FROM client_document WHERE collection>known.collection)
                        FROM known WHERE known.collection IS NOT NULL)
                    \(sql) WHERE \(condition) AND collection IN (
                        SELECT collection FROM known WHERE collection=?1 OR collection LIKE '%/'||?1)
                    """
                values = [.text(id)]
            } else {
                sql += " WHERE \(condition) AND collection=?"
                values = [.text(plan.query.parent.collectionPath(id))]
            }
        } else {
            sql += " WHERE \(condition)"
        }
        try database.query(sql, values) { row in
            if let snapshot = try snapshot(row, in: plan) { try body(snapshot) }
        }
    }

    // MARK: The feed of changes

    /// Returns the documents whose view changed after a number, oldest change first. Each document
    /// is returned once, with its latest change.
    func changes(after sequence: Int64, limit: Int) throws -> [DocumentChangeNotice] {
        let sql = """
            SELECT sequence, collection, name, state FROM client_document WHERE sequence>? ORDER BY sequence LIMIT ?
            """
        var changes: [DocumentChangeNotice] = []
        try database.query(sql, [.integer(sequence), .int(limit)]) { row in
            let name = try DocumentName(database: databaseName, path: "\(row.text(1))/\(row.text(2))")
            let state = DocumentRow.State(rawValue: row.int64(3)) ?? .unknown
            changes.append(DocumentChangeNotice(sequence: row.int64(0), name: name, isOutside: state == .outside))
        }
        return changes
    }

    /// Returns the number up to which a consumer has acknowledged changes; 0 for a new one, which
    /// is registered.
    func acknowledged(by consumer: String) throws -> Int64 {
        let sql = "SELECT acknowledged FROM client_consumer WHERE name=?"
        if let known = try database.first(sql, [.text(consumer)], { $0.int64(0) }) { return known }
        try file.transaction { try database.execute("INSERT INTO client_consumer VALUES(?,0)", [.text(consumer)]) }
        return 0
    }

    func acknowledge(_ sequence: Int64, by consumer: String) throws {
        try file.transaction {
            try database.execute(
                """
                INSERT INTO client_consumer VALUES(?1,?2)
                ON CONFLICT DO UPDATE SET acknowledged=max(acknowledged, excluded.acknowledged)
                """, [.text(consumer), .integer(sequence)])
        }
    }

    // MARK: Pending mutations

    /// Returns the mutations that the remote has not committed, oldest first.
    func pending(limit: Int = .max, parkedOnly: Bool = false) throws -> [PendingMutation] {
        try pending(
            where: parkedOnly ? "parked IS NOT NULL" : "true", orderedBy: "position, sequence LIMIT ?", [.int(limit)])
    }

    /// Returns the mutations of one document that the remote has not committed.
    func pending(of name: DocumentName) throws -> [PendingMutation] {
        try pending(where: "path=?", orderedBy: "position, sequence", [.text(name.path)])
    }

    private func pending(
        where condition: String, orderedBy order: String, _ values: [SQLiteValue]
    ) throws -> [PendingMutation] {
        var pending: [PendingMutation] = []
        let columns = "sequence, path, content, sum, parked, appended"
        let sql = "SELECT \(columns) FROM client_mutation WHERE \(condition) ORDER BY \(order)"
        try database.query(sql, values) { row in
            try row.checkIntact(0..<3, sum: 3)
            pending.append(
                PendingMutation(
                    id: row.int64(0), mutation: try MutationRecord.mutation(decoding: row.bytes(2)),
                    parkedReason: row.optionalText(4), appendedMilliseconds: row.int64(5)))
        }
        return pending
    }

    /// Returns the time of the oldest unsent mutation, in milliseconds of the local clock.
    func oldestAppended() throws -> Int64? {
        let sql = "SELECT appended FROM client_mutation WHERE parked IS NULL ORDER BY sequence LIMIT 1"
        return try database.first(sql) { $0.int64(0) }
    }
}
