package import DocumentModel
import DocumentStore
package import FirestoreProtocol
package import PostgreSQL

/// All documents of a database in PostgreSQL, for commands that read or check them while servers run.
///
/// Each method reads one snapshot. Throws `DocumentStoreError`, and what its closure throws.
package struct PostgresDocuments {
    private let database: DatabaseName
    private let server: PostgresConfiguration

    /// The number of rows that are read at once.
    private static let page: Int64 = 500

    package init(_ database: DatabaseName, _ server: PostgresConfiguration) {
        self.database = database
        self.server = server
    }

    /// Calls `body` with every document, collection by collection, in the order of ids.
    ///
    /// - Returns: The paths of documents that are damaged and left out.
    package func forEach(_ body: (EncodedDocument) throws -> Void) throws -> [String] {
        try withSnapshot { connection, partition in
            let numbers = PathNumbers(partition: partition)
            var damaged: [String] = []
            var last: (collection: Int64, id: [UInt8]) = (.min, [])
            while true {
                let rows = try connection.run(
                    """
                    SELECT d.collection, d.id, d.create_time, d.update_time, d.fields
                    FROM ferry.document d JOIN ferry.collection c USING(collection)
                    WHERE c.partition=$1 AND (d.collection, d.id)>($2, $3) ORDER BY d.collection, d.id LIMIT $4
                    """, [.integer(partition), .integer(last.collection), .bytes(last.id), .integer(Self.page)])
                for row in 0..<rows.count {
                    last = (rows.integer(row, 0), rows.bytes(row, 1))
                    let document = EncodedDocument(
                        name: try numbers.name(collection: last.collection, id: last.id, in: database, connection),
                        createTime: rows.integer(row, 2), updateTime: rows.integer(row, 3),
                        fields: rows.bytes(row, 4))
                    guard (try? Document(document)) != nil else {
                        damaged.append(document.name.path)
                        continue
                    }
                    try body(document)
                }
                if rows.count < Int(Self.page) { return damaged }
            }
        }
    }

    /// Calls `body` with the fields of every version of all databases that contains one of two byte
    /// strings: those of the documents, and those that reads in the past can still find.
    package func forEachVersion(
        containing first: [UInt8], or second: [UInt8], _ body: (_ fields: [UInt8], _ isPresent: Bool) throws -> Void
    ) throws {
        let isWanted = "(position($1 IN fields)>0 OR position($2 IN fields)>0)"
        let marks: [PostgresValue] = [.bytes(first), .bytes(second)]
        try withSnapshot { connection, _ in
            var last: Int64 = .min
            var rows: PostgresResult
            repeat {
                rows = try connection.run(
                    "SELECT document, fields FROM ferry.document WHERE document>$3 AND \(isWanted) ORDER BY document LIMIT $4",
                    marks + [.integer(last), .integer(Self.page)])
                for row in 0..<rows.count { try body(rows.bytes(row, 1), true) }
                last = rows.integer(rows.count - 1, 0)
            } while rows.count == Int(Self.page)
            var position: [PostgresValue] = [.integer(.min), .integer(.min), .integer(.min)]
            repeat {
                rows = try connection.run(
                    """
                    SELECT partition, time, number, fields FROM ferry.change
                    WHERE (partition, time, number)>($3, $4, $5) AND \(isWanted)
                    ORDER BY partition, time, number LIMIT $6
                    """, marks + position + [.integer(Self.page)])
                for row in 0..<rows.count { try body(rows.bytes(row, 3), false) }
                position = (0..<3).map { .integer(rows.integer(rows.count - 1, $0)) }
            } while rows.count == Int(Self.page)
        }
    }

    /// Whether any document of any database contains the bytes.
    package func contain(_ bytes: [UInt8]) throws -> Bool {
        try withSnapshot { connection, _ in
            try connection.run(
                "SELECT 1 FROM ferry.document WHERE position($1 IN fields)>0 LIMIT 1", [.bytes(bytes)]
            ).count > 0
        }
    }

    /// Returns what is wrong with the documents, one line each.
    ///
    /// The checks: every document can be read and is not later than the clock, and index entries,
    /// documents and collections belong together.
    package func problems() throws -> [String] {
        var problems = try forEach { _ in }.map { "\($0) is damaged" }
        try withSnapshot { connection, partition in
            let checks = [
                (
                    """
                    SELECT count(*) FROM ferry.entry e LEFT JOIN ferry.document d USING(document)
                    WHERE d.document IS NULL
                    """, [], "entries of indexes belong to no document"
                ),
                (
                    "SELECT count(*) FROM ferry.document d LEFT JOIN ferry.collection c USING(collection) "
                        + "WHERE c.collection IS NULL", [], "documents belong to no collection"
                ),
                (
                    """
                    SELECT count(*) FROM ferry.document d JOIN ferry.collection c USING(collection)
                    JOIN ferry.database b USING(partition) WHERE b.partition=$1 AND d.update_time>b.clock
                    """, [PostgresValue.integer(partition)], "documents are later than the database's clock"
                ),
            ]
            for (sql, values, problem) in checks {
                let count = try connection.run(sql, values).integer(0, 0)
                if count > 0 { problems.append("\(count) \(problem)") }
            }
        }
        return problems
    }

    private func withSnapshot<Result>(_ body: (PostgresConnection, _ partition: Int64) throws -> Result) throws
        -> Result
    {
        var server = server
        // Statements look at all documents here.
        server.answerTimeout = nil
        let session = PostgresSession(server)
        do {
            let connection = try session.connected()
            let rows = try connection.run([
                PostgresStatement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
                // What is read is written somewhere else in between, which may take a while.
                PostgresStatement("SET LOCAL idle_in_transaction_session_timeout = '1h'"),
                PostgresStatement(
                    "SELECT partition FROM ferry.database WHERE name=$1", [.text(database.description)]),
            ])
            guard let row = rows.last, row.count == 1 else {
                throw DocumentStoreError(.notFound, "There are no documents of \(database).")
            }
            let result = try body(connection, row.integer(0, 0))
            try connection.run("COMMIT")
            return result
        } catch let error where error is PostgresError || error is StoredDataError {
            throw DocumentStoreError(ofPostgres: error)
        }
    }
}
