package import DocumentModel
package import SQLite

/// A replica inside one transaction of its file. Valid only in the closure to which it is passed.
package struct ReplicaTransaction {
    let replica: Replica

    /// The file, for the caller's own tables. Tables with names that begin with `client_` must not
    /// be accessed.
    package var database: SQLiteDatabase { replica.database }

    /// The id that identifies this replica in history.
    package var replicaID: String { replica.replicaID }

    /// The database that contains all documents.
    package var databaseName: DatabaseName { replica.databaseName }

    /// The remote's time of the last boundary; nil before the first one. Goes back only when
    /// another remote is adopted.
    package var remoteTime: Timestamp? {
        get throws { try replica.remoteTime }
    }

    /// Returns the document as this replica sees it: the remote's version with the journal applied.
    package func document(_ name: DocumentName) throws -> DocumentSnapshot { try replica.snapshot(name) }

    /// Returns the remote's version without local changes; nil if it does not exist or was never
    /// received.
    package func base(_ name: DocumentName) throws -> Document? {
        guard let row = try replica.file.row(name.path), case .exists(let fields, let time) = try replica.file.base(row)
        else {
            return nil
        }
        return Document(name: name, fields: fields, createTime: row.created, updateTime: time)
    }

    /// Returns the documents of this replica that match a query.
    package func documents(_ query: Query) throws -> [DocumentSnapshot] {
        try replica.reader.results(of: QueryPlan(query))
    }

    /// Returns the documents of one collection that match a query, in no order, a page at a time,
    /// for results that need not be in memory at once. A document that changes between two pages
    /// may be in neither or in both.
    ///
    /// - Parameters:
    ///   - row: nil for the first page, then `last` of the page before.
    ///   - keys: the fields to read. The snapshots may lack all others.
    /// - Returns: Nil after the last page.
    package func documents(
        _ query: Query, only keys: Set<String>, after row: Int64?, limit: Int
    ) throws -> (found: [DocumentSnapshot], last: Int64)? {
        try replica.reader.results(of: QueryPlan(query), only: keys, after: row ?? .min, limit: limit)
    }

    /// Adds a mutation to the journal. It is sent after the transaction has been committed.
    package func append(_ mutation: Mutation) throws { try replica.append([mutation]) }

    /// Adds mutations that take effect in one commit or not at all.
    package func append(asOne mutations: [Mutation]) throws { try replica.append(mutations, asOne: true) }

    /// Returns the changes after the last acknowledgement of `consumer`, oldest first, including
    /// its own.
    ///
    /// A change is returned again until it is acknowledged, also after a crash. If it is
    /// acknowledged in the transaction that records its effects, it is processed exactly once.
    package func changes(for consumer: String, limit: Int = 500) throws -> [DocumentChangeNotice] {
        try replica.reader.changes(after: replica.reader.acknowledged(by: consumer), limit: limit)
    }

    package func changes(after sequence: Int64, limit: Int = 500) throws -> [DocumentChangeNotice] {
        try replica.reader.changes(after: sequence, limit: limit)
    }

    package func acknowledge(through sequence: Int64, for consumer: String) throws {
        try replica.reader.acknowledge(sequence, by: consumer)
    }

    /// Returns the mutations of a document that the remote has not committed, oldest first.
    package func pending(_ name: DocumentName) throws -> [PendingMutation] {
        try replica.reader.pending(of: name)
    }

    /// Discards the mutations of a document that were not sent. Those that may be in flight are
    /// kept.
    package func giveUp(_ name: DocumentName) throws { try replica.file.giveUp(name.path) }

    /// Removes the results of a query from this replica, except documents that are results of
    /// another query. The query must have been released, and must not be kept again before the
    /// transaction has ended.
    package func forget(_ query: Query) throws { try replica.forget(query) }

    /// The number of the newest change.
    package var latestSequence: Int64 { replica.file.latestNumber }
}
