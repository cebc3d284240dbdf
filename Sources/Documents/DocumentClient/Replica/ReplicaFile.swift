import DocumentModel
import FirestoreProtocol
import SQLite

/// The tables of a replica's file, the documents and the mutations, with the journal that orders the mutations.
///
/// Belongs to the owner of `database`; not thread safe.
final class ReplicaFile {
    let database: SQLiteDatabase
    let databaseName: DatabaseName

    var journal = Journal()
    /// The paths whose view changed since they were last taken.
    var changedPaths: Set<String> = []
    /// The outcomes of mutations since this was last taken, oldest first, by their positions.
    var outcomes: [(position: Int64, outcome: MutationOutcome)] = []
    private var number: Int64 = 0
    private var journalChanged = false
    /// Decoded mutations. Each is read several times before it is removed.
    private var decoded: [Int64: Mutation] = [:]
    /// The total size of the decoded mutations, including those removed since.
    private var decodedBytes = 0
    /// The last large base that was decoded: a commit, its echo and its readers each read it
    /// several times.
    private var decodedBase: (id: Int64, version: Timestamp, fields: [String: Value])?
    /// Returns milliseconds of the local clock, for display only.
    private let clock: () -> Int64

    /// Opens the tables of a database that has the schema of replicas already.
    init(database: SQLiteDatabase, databaseName: DatabaseName, clock: @escaping () -> Int64) throws {
        self.database = database
        self.databaseName = databaseName
        self.clock = clock
        number = try Self.latestNumber(in: database)
        try loadJournal(keeping: [:])
    }

    // MARK: Transactions

    /// Runs `body` as one transaction. A nested call is part of the outer one.
    func transaction<Result>(
        waitingForDisk: Bool = true, _ body: () throws -> Result
    ) throws -> Result {
        guard !database.isInTransaction else { return try body() }
        let before = number
        let outcomeCount = outcomes.count
        journalChanged = false
        do {
            return try database.transaction(waitingForDisk ? .full : .normal) {
                let result = try body()
                if number != before {
                    try database.execute(
                        "INSERT INTO client_state VALUES('number', ?1) ON CONFLICT DO UPDATE SET value=?1",
                        [.integer(number)])
                }
                return result
            }
        } catch {
            number = before
            outcomes.removeLast(outcomes.count - outcomeCount)
            // The numbers of discarded mutations will be assigned to others.
            forgetDecoded()
            if journalChanged { try? loadJournal(keeping: journal.entries) }
            throw error
        }
    }

    func forgetDecoded() {
        (decoded, decodedBytes) = ([:], 0)
        decodedBase = nil
    }

    func nextNumber() -> Int64 {
        number += 1
        return number
    }

    /// The newest number that was assigned.
    var latestNumber: Int64 { number }

    // MARK: Journal rows

    /// Rebuilds the journal's order from the file. The first mutation of each document may have
    /// been sent by an earlier run of the program; `known` contains more precise information.
    private func loadJournal(keeping known: [Int64: JournalEntry]) throws {
        var entries: [JournalEntry] = []
        var seen: Set<String> = []
        let sql = """
            SELECT sequence, path, content, sum, batch, position, parked IS NOT NULL FROM client_mutation
            ORDER BY position, sequence
            """
        try database.query(sql) { row in
            try row.checkIntact(0..<3, sum: 3)
            let content = row.bytes(2)
            let mutation = try MutationRecord.mutation(decoding: content)
            let path = row.text(1)
            let isFirst = seen.insert(path).inserted
            var entry = JournalEntry(
                sequence: row.int64(0), position: row.int64(5), path: path, group: row.int64(4), bytes: content.count,
                writeCount: mutation.writeCount, needsRead: false)
            entry.isParked = row.bool(6)
            let isUnknown = try isFirst && self.row(path).map { $0.state == .unknown } ?? true
            entry.needsRead = isUnknown && mutation.needsRead(on: .unknown)
            // The remote has nothing of a rejected mutation, and a newer edit may replace it.
            entry.trace = !isFirst || entry.needsRead || entry.isParked ? .none : .open
            if let better = known[entry.sequence] {
                entry.isUnderWay = better.isUnderWay
                entry.trace = better.trace
                entry.failures = better.failures
            }
            entries.append(entry)
        }
        journal.reload(entries)
    }

    func mutation(_ sequence: Int64) throws -> Mutation {
        if let known = decoded[sequence] { return known }
        let sql = "SELECT sequence, path, content, sum FROM client_mutation WHERE sequence=?"
        let found = try database.first(sql, [.integer(sequence)]) { row in
            try row.checkIntact(0..<3, sum: 3)
            return row.bytes(2)
        }
        guard let content = found else {
            throw DocumentClientError(
                .corrupt, "The journal lacks mutation \(sequence), which its index names. Restore the state file.")
        }
        let mutation = try MutationRecord.mutation(decoding: content)
        keep(mutation, sequence, size: content.count)
        return mutation
    }

    private func keep(_ mutation: Mutation, _ sequence: Int64, size: Int) {
        if decoded.count >= 256 || decodedBytes + size > Self.decodedLimit { (decoded, decodedBytes) = ([:], 0) }
        decoded[sequence] = mutation
        decodedBytes += size
    }

    private static let decodedLimit = 1 << 20

    /// Removes a mutation from the journal.
    ///
    /// - Parameter outcome: what became of it.
    func deleteMutation(_ sequence: Int64, _ outcome: MutationOutcome) throws {
        journalChanged = true
        if let entry = journal.entries[sequence] { outcomes.append((entry.position, outcome)) }
        decoded[sequence] = nil
        journal.remove(sequence)
        try database.execute("DELETE FROM client_mutation WHERE sequence=?", [.integer(sequence)])
    }

    /// Adds a mutation after the others of its document, or replaces one. The replacement of a
    /// rejected mutation stays rejected.
    @discardableResult func insertMutation(
        _ mutation: Mutation, group: Int64, needsRead: Bool, replacing old: Int64? = nil, failures: Int = 0
    ) throws -> Int64 {
        journalChanged = true
        let sequence = nextNumber()
        let content = MutationRecord(mutation).encoded()
        var position = sequence
        var appended = clock()
        var parked: String?
        if let old {
            decoded[old] = nil
            let sql = "DELETE FROM client_mutation WHERE sequence=? RETURNING position, appended, parked"
            try database.query(sql, [.integer(old)]) { row in
                position = row.int64(0)
                appended = row.int64(1)
                parked = row.optionalText(2)
            }
        }
        var entry = JournalEntry(
            sequence: sequence, position: position, path: mutation.name.path, group: group < 0 ? sequence : group,
            bytes: content.count, writeCount: mutation.writeCount, needsRead: needsRead)
        entry.failures = failures
        entry.isParked = parked != nil
        if let old {
            journal.replace(old, with: entry)
        } else {
            journal.append(entry)
        }
        try database.execute(
            """
            INSERT INTO client_mutation(sequence, position, path, content, batch, parked, appended, sum)
            VALUES(?1,?2,?3,?4,?5,?6,?7, row_sum(?1, ?3, ?4))
            """,
            [
                .integer(sequence), .integer(position), .text(mutation.name.path), .blob(content),
                .integer(entry.group), .optional(parked), .integer(appended),
            ])
        keep(mutation, sequence, size: content.count)
        return sequence
    }

    /// Marks mutations as rejected until they are retried or replaced, together with those that can
    /// only be sent after or with them. If a refused mutation can be combined with those made after
    /// it, the result is sent at once.
    func park(_ sequences: [Int64], reason: String) throws {
        try transaction {
            journalChanged = true
            var waiting = sequences
            while let sequence = waiting.popLast() {
                guard let entry = journal.entries[sequence], !entry.isParked else { continue }
                try touch(entry.path)
                let followers = Array(journal.sequences(of: entry.path).drop { $0 != sequence }.dropFirst())
                if entry.group == 0, !entry.isUnderWay, entry.trace != .open,
                    let joined = try joined(sequence, followers)
                {
                    for follower in followers { try deleteMutation(follower, .joined(entry.position)) }
                    try insertMutation(joined, group: 0, needsRead: entry.needsRead, replacing: sequence)
                    continue
                }
                journal.park([sequence])
                outcomes.append((entry.position, .rejected(reason)))
                let sql = "UPDATE client_mutation SET parked=? WHERE sequence=?"
                try database.execute(sql, [.text(reason), .integer(sequence)])
                waiting += followers + journal.members(of: entry.group)
            }
        }
    }

    private func joined(_ sequence: Int64, _ followers: [Int64]) throws -> Mutation? {
        guard !followers.isEmpty, followers.allSatisfy({ journal.entries[$0]?.group == 0 }) else { return nil }
        var joined = try mutation(sequence)
        for follower in followers {
            guard let next = joined.followed(by: try mutation(follower)) else { return nil }
            joined = next
        }
        return joined
    }

    /// Sends rejected mutations again, together with those that wait for them.
    func unpark(_ sequence: Int64) throws {
        try transaction {
            journalChanged = true
            var waiting = [sequence]
            var seen: Set<Int64> = []
            while let sequence = waiting.popLast() {
                guard seen.insert(sequence).inserted, let entry = journal.entries[sequence] else { continue }
                journal.retry(sequence)
                try database.execute(
                    "UPDATE client_mutation SET parked=NULL WHERE sequence=?", [.integer(sequence)])
                try touch(entry.path)
                waiting += journal.sequences(of: entry.path) + journal.members(of: entry.group)
            }
        }
    }

    // MARK: Document rows

    private static let findRow = "SELECT \(DocumentRow.columns) FROM client_document WHERE collection=? AND name=?"

    func row(_ path: String) throws -> DocumentRow? {
        let parts = PathParts(path)
        return try database.first(
            Self.findRow, [.text(parts.collection), .text(parts.name)], DocumentRow.init)
    }

    func base(_ path: String) throws -> Base { try base(row(path)) }

    /// Returns the base of a row.
    ///
    /// - Parameter keys: the fields that are needed; nil for all.
    func base(_ row: DocumentRow?, only keys: Set<String>? = nil) throws -> Base {
        guard let row else { return .unknown }
        guard row.fields.count >= Self.largeDocument, row.state == .exists || row.state == .outside else {
            return try row.base(only: keys)
        }
        if let known = decodedBase, known.id == row.id, known.version == row.version {
            return .exists(fields: known.fields, updateTime: row.version)
        }
        let base = try row.base(only: keys)
        if keys == nil, let fields = base.fields { decodedBase = (row.id, row.version, fields) }
        return base
    }

    /// The size in bytes from which decoding a document costs more than caching it.
    private static let largeDocument = 16_384

    /// Caches the decoded fields of a version that was just stored.
    func remember(_ fields: [String: Value], of id: Int64, _ state: RemoteState) {
        guard case .exists(let document) = state, document.fields.bytes.count >= Self.largeDocument else { return }
        decodedBase = (id, document.updateTime, fields)
    }

    /// Stores the remote's version of a document without consulting the journal. Returns the row's
    /// id.
    @discardableResult func store(_ state: RemoteState, at path: String, row: DocumentRow?) throws -> Int64 {
        changedPaths.insert(path)
        if decodedBase?.id == row?.id { decodedBase = nil }
        let sequence = nextNumber()
        let parts = PathParts(path)
        let values: [SQLiteValue]
        switch state {
        case .missing(let time):
            values = [
                .text(parts.collection), .text(parts.name), 1, nil, 0, .integer(time.microseconds), .integer(sequence),
            ]
        case .exists(let document):
            values = [
                .text(parts.collection), .text(parts.name), 2, .blob(document.fields.bytes),
                .integer(document.createTime.microseconds), .integer(document.updateTime.microseconds),
                .integer(sequence),
            ]
        }
        if let row {
            try database.execute(
                """
                UPDATE client_document SET collection=?1, name=?2, state=?3, fields=?4, created=?5, version=?6, sequence=?7,
                    sum=row_sum(?1,?2,?3,?4,?5,?6)
                WHERE id=?8
                """, values + [.integer(row.id)])
            return row.id
        }
        try database.execute(
            """
            INSERT INTO client_document(\(DocumentRow.summed), sequence, sum)
            VALUES(?1,?2,?3,?4,?5,?6,?7, row_sum(?1,?2,?3,?4,?5,?6))
            """, values)
        return database.lastInsertedRowID
    }

    /// Marks the remote's version of a document as unknown.
    func forgetBase(of id: Int64) throws {
        decodedBase = nil
        try database.execute(
            """
            UPDATE client_document SET state=0, fields=NULL, created=0, version=0,
                sum=row_sum(collection, name, 0, NULL, 0, 0)
            WHERE id=?
            """, [.integer(id)])
    }

    /// Changes the state of a document, and with it its view.
    func setState(_ state: DocumentRow.State, of id: Int64, at path: String) throws {
        changedPaths.insert(path)
        try database.execute(
            """
            UPDATE client_document SET state=?1, sequence=?2, sum=row_sum(collection, name, ?1, fields, created, version)
            WHERE id=?3
            """,
            [.integer(state.rawValue), .integer(nextNumber()), .integer(id)])
    }

    /// Removes rows of deleted documents. They are needed until no older message about them can
    /// arrive and every consumer has acknowledged the delete.
    func forgetMissing(until readTime: Timestamp) throws {
        let find = "SELECT 1 FROM client_document WHERE state=1 AND version<=? LIMIT 1"
        // Usually there are none, and this query is faster than a DELETE that matches nothing.
        guard try database.first(find, [.integer(readTime.microseconds)], { _ in true }) != nil else { return }
        let seen = try database.first("SELECT min(acknowledged) FROM client_consumer") { $0.optionalInt64(0) }
        try database.execute(
            """
            DELETE FROM client_document WHERE id IN (
                SELECT id FROM client_document d WHERE state=1 AND version<=?1 AND sequence<=?2
                AND NOT EXISTS(SELECT 1 FROM client_mutation WHERE path=d.collection||'/'||d.name) LIMIT 1000)
            """, [.integer(readTime.microseconds), .integer((seen ?? nil) ?? Int64.max)])
    }

    /// Records that the view of a document changed although the remote's version did not.
    func touch(_ path: String) throws {
        changedPaths.insert(path)
        let parts = PathParts(path)
        try database.execute(
            """
            INSERT INTO client_document(state, created, version, sequence, collection, name, sum)
            VALUES(0,0,0,?1,?2,?3, row_sum(?2, ?3, 0, NULL, 0, 0))
            ON CONFLICT(collection, name) DO UPDATE SET sequence=excluded.sequence
            """, [.integer(nextNumber()), .text(parts.collection), .text(parts.name)])
    }

    // MARK: Numbers

    /// Returns the newest number that was assigned. Assigning a number twice would hide a change,
    /// so several stored values are consulted.
    static func latestNumber(in database: SQLiteDatabase) throws -> Int64 {
        let sql = """
            SELECT max(
                coalesce((SELECT value FROM client_state WHERE key='number'), 0),
                coalesce((SELECT max(sequence) FROM client_document), 0),
                coalesce((SELECT max(sequence) FROM client_mutation), 0),
                coalesce((SELECT max(acknowledged) FROM client_consumer), 0))
            """
        return try database.first(sql) { $0.int64(0) } ?? 0
    }
}
