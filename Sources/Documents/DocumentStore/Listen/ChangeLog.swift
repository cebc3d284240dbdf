import DocumentModel
import FirestoreProtocol
import SQLite

/// Reads past commits from the log for listeners.
struct ChangeLog {
    private static let byteLimit = 16 << 20

    let tables: DocumentTables

    /// Returns commits after `start` up to `end`, oldest first, with only the changes whose
    /// document passes `isWanted`.
    ///
    /// - Parameter limit: the approximate number of changes to read; `byteLimit` limits their
    ///   content. A commit is never split.
    /// - Returns: The commits, and the time up to which they are complete.
    func commits(
        after start: Int64, through end: Int64, limit: Int, isWanted: (DocumentName) -> Bool
    ) throws -> (records: [CommitRecord], through: Int64) {
        var records: [CommitRecord] = []
        var changes: [CommitRecord.Change] = []
        var time = start
        var count = 0
        var bytes = 0
        var isCut = false
        func close() {
            if !changes.isEmpty { records.append(CommitRecord(time: Timestamp(microseconds: time), changes: changes)) }
            changes = []
        }
        try tables.sqlite.withStatement(
            """
            SELECT sum, \(RowSum.change) FROM change
            WHERE time>? AND time<=? ORDER BY time, change
            """
        ) { statement in
            try statement.bind(1, start)
            try statement.bind(2, end)
            while try statement.step() {
                if statement.int64(1) != time {
                    close()
                    if count >= limit || bytes >= Self.byteLimit {
                        isCut = true
                        break
                    }
                    time = statement.int64(1)
                }
                count += 1
                let (collection, id) = (statement.int64(2), statement.bytes(3))
                // A damaged row lacks only the replaced version; the present version is stored
                // elsewhere.
                let isIntact = statement.isIntact(1..<7, sum: 0)
                guard isIntact || (try? tables.name(collection: collection, id: id)) != nil else { continue }
                let name = try tables.name(collection: collection, id: id)
                guard isWanted(name) else { continue }
                var before: Document?
                if isIntact, !statement.isNull(5) {
                    let fields = statement.bytes(6)
                    bytes += fields.count
                    before = try Document(
                        EncodedDocument(
                            name: name, createTime: statement.int64(4), updateTime: statement.int64(5), fields: fields))
                }
                guard
                    case .known(let encoded) = try tables.unlessDamaged({
                        try tables.document(name, collection: collection, id: id, at: time)
                    })
                else { continue }
                bytes += encoded?.fields.bytes.count ?? 0
                changes.append(
                    CommitRecord.Change(
                        name: name, before: before, after: try encoded.map(Document.init), encoded: encoded))
            }
        }
        close()
        return (records, isCut ? time : end)
    }

    /// Returns the differences between two times as one commit, with each document once. Returns
    /// nil if there are more than `limit` documents or more content than should be held in memory.
    func difference(
        from start: Int64, to end: Int64, limit: Int, isWanted: (DocumentName) -> Bool
    ) throws -> CommitRecord? {
        var names = Set<DocumentName>()
        try tables.sqlite.query(
            "SELECT DISTINCT collection, id FROM change WHERE time>? AND time<=?", [.integer(start), .integer(end)]
        ) { row in
            guard names.count <= limit else { return }
            let name = try tables.name(collection: row.int64(0), id: row.bytes(1))
            if isWanted(name) { names.insert(name) }
        }
        guard names.count <= limit else { return nil }
        var changes: [CommitRecord.Change] = []
        var bytes = 0
        for name in names.sorted() {
            // A damaged document must not be reported as deleted.
            guard case .known(let after) = try tables.unlessDamaged({ try tables.document(name, at: end) }) else {
                continue
            }
            let before: EncodedDocument? =
                switch try tables.unlessDamaged({ try tables.document(name, at: start) }) {
                case .known(let document): document
                case .damaged: nil
                }
            guard before != after else { continue }
            bytes += (before?.fields.bytes.count ?? 0) + (after?.fields.bytes.count ?? 0)
            guard bytes <= Self.byteLimit else { return nil }
            changes.append(
                CommitRecord.Change(
                    name: name, before: try before.map(Document.init), after: try after.map(Document.init),
                    encoded: after))
        }
        return CommitRecord(time: Timestamp(microseconds: end), changes: changes)
    }
}
