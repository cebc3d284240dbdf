import DocumentModel
import FirestoreProtocol
import SQLite

/// Reads past commits from the log, as listeners need them.
struct ChangeLog {
    private static let byteLimit = 16 << 20

    let tables: DocumentTables

    /// Commits after `start` up to `end`, oldest first, only the changes whose document passes `isWanted`.
    ///
    /// - Parameter limit: about how many changes are read, and `byteLimit` how much content; a commit is never split.
    /// - Returns: the commits, and the time up to which they are complete.
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
            SELECT time, collection, id, create_time, update_time, fields FROM change
            WHERE time>? AND time<=? ORDER BY time, change
            """
        ) { statement in
            try statement.bind(1, start)
            try statement.bind(2, end)
            while try statement.step() {
                if statement.int64(0) != time {
                    close()
                    if count >= limit || bytes >= Self.byteLimit {
                        isCut = true
                        break
                    }
                    time = statement.int64(0)
                }
                count += 1
                let (collection, id) = (statement.int64(1), statement.bytes(2))
                let name = try tables.name(collection: collection, id: id)
                guard isWanted(name) else { continue }
                var before: Document?
                if !statement.isNull(4) {
                    let fields = statement.bytes(5)
                    bytes += fields.count
                    before = try Document(
                        EncodedDocument(
                            name: name, createTime: statement.int64(3), updateTime: statement.int64(4), fields: fields))
                }
                let encoded = try tables.document(name, collection: collection, id: id, at: time)
                bytes += encoded?.fields.bytes.count ?? 0
                changes.append(
                    CommitRecord.Change(
                        name: name, before: before, after: try encoded.map(Document.init), encoded: encoded))
            }
        }
        close()
        return (records, isCut ? time : end)
    }

    /// What changed between two times, each document once, as if by one commit; nil if it is more than `limit` documents or
    /// more content than one should hold at once.
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
            let before = try tables.document(name, at: start)
            let after = try tables.document(name, at: end)
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
