package import DocumentModel
package import SQLite

/// The replica inside one transaction of its file. Valid only in the closure that it is given to.
package struct ReplicaTransaction {
    let replica: Replica

    /// The file, for tables of the caller's own. Do not touch tables that begin with `client_`.
    package var database: SQLiteDatabase { replica.database }

    /// Names this replica in history.
    package var replicaID: String { replica.replicaID }

    /// The database that all documents are in.
    package var databaseName: DatabaseName { replica.databaseName }

    /// The remote's clock when it last told of news; nil before it first did. Goes back only where another remote is adopted.
    package var remoteTime: Timestamp? {
        get throws { try replica.remoteTime }
    }

    /// The document as this replica sees it: the remote's version with the journal on top.
    package func document(_ name: DocumentName) throws -> DocumentSnapshot { try replica.snapshot(name) }

    /// The remote's version without local changes; nil if it does not exist or was never seen.
    package func base(_ name: DocumentName) throws -> Document? {
        guard let row = try replica.row(name.path), case .exists(let fields, let time) = try replica.base(row) else {
            return nil
        }
        return Document(name: name, fields: fields, createTime: row.created, updateTime: time)
    }

    /// The documents that match a query here.
    package func documents(_ query: Query) throws -> [DocumentSnapshot] {
        try replica.results(of: QueryPlan(query))
    }

    /// Every document of a collection that matches a query of it, in no order, `limit` at a time: for results that need not be
    /// in memory at once. What is changed between two pages may be in neither or in both.
    ///
    /// - Parameters:
    ///   - row: nil for the first page, then what the page before answered. Nil is answered behind the last.
    ///   - keys: the fields to read; the snapshots may lack all others.
    package func documents(
        _ query: Query, only keys: Set<String>, after row: Int64?, limit: Int
    ) throws -> (found: [DocumentSnapshot], last: Int64)? {
        try replica.results(of: QueryPlan(query), only: keys, after: row ?? .min, limit: limit)
    }

    /// Adds a mutation to the journal; it is sent when the transaction has been committed.
    package func append(_ mutation: Mutation) throws { try replica.append([mutation]) }

    /// Adds mutations that take effect in one commit or not at all.
    package func append(asOne mutations: [Mutation]) throws { try replica.append(mutations, asOne: true) }

    /// What changed after the last acknowledgement of `consumer`, whoever changed it, oldest first.
    ///
    /// Until a change is acknowledged it is handed out again, also after a crash. Acknowledging in the transaction that
    /// records what was made of it makes handling exactly once.
    package func changes(for consumer: String, limit: Int = 500) throws -> [DocumentChangeNotice] {
        try replica.changes(after: replica.acknowledged(by: consumer), limit: limit)
    }

    package func changes(after sequence: Int64, limit: Int = 500) throws -> [DocumentChangeNotice] {
        try replica.changes(after: sequence, limit: limit)
    }

    package func acknowledge(through sequence: Int64, for consumer: String) throws {
        try replica.acknowledge(sequence, by: consumer)
    }

    /// The mutations of a document that the remote has not ordered, oldest first.
    package func pending(_ name: DocumentName) throws -> [PendingMutation] {
        try replica.pending(of: name)
    }

    /// Gives up what was not sent of a document; what may be on its way stays.
    package func giveUp(_ name: DocumentName) throws { try replica.giveUp(name.path) }

    /// Takes the results of a query away from here, where no other one has them. Release it before, and do not keep it again
    /// before the transaction has ended.
    package func forget(_ query: Query) throws { try replica.forget(query) }

    /// The number of the newest change.
    package var latestSequence: Int64 { replica.latestNumber }
}
