import DocumentModel
import FirestoreProtocol
import SQLite
import SystemIO

extension Replica {
    /// The follow-up work of applying boundaries.
    struct ListenOutcome {
        /// Targets whose members do not agree with the remote's count, to be requested again.
        var mismatched: Set<Int32> = []
        /// Documents that a target no longer contains for an unknown reason, to be read.
        var missing: [DocumentName] = []
        /// Documents that are known only from this replica's own commits although every target has
        /// reported all its documents, to be read.
        var unreported: [DocumentName] = []
        /// Whether the remote is older than the state that this replica has seen: it was restored
        /// from a backup or replaced.
        var wentBack = false
    }

    /// The time by which a boundary may be earlier than a previous one. The remote's clock never
    /// goes back. The margin prevents a false alarm if times of several remotes are merged
    /// imprecisely.
    static let toleratedMicroseconds: Int64 = 60_000_000

    /// Adds a boundary, and applies the waiting boundaries up to the first that concerns a document
    /// with a commit in flight.
    func receive(_ boundary: Boundary) throws -> ListenOutcome {
        held.append(boundary)
        return try applyHeld()
    }

    /// Applies the boundaries that waited for the outcome of a commit.
    func applyHeld() throws -> ListenOutcome {
        var outcome = ListenOutcome()
        while let boundary = held.first, !outcome.wentBack, !touchesPinned(boundary) {
            try transaction { try apply(boundary, &outcome) }
            if !outcome.wentBack { held.removeFirst() }
        }
        return outcome
    }

    /// The newest time up to which the remote has reported everything; nil before the first
    /// boundary.
    var remoteTime: Timestamp? {
        get throws {
            try database.first("SELECT value FROM client_state WHERE key='read_time'") {
                Timestamp(microseconds: $0.int64(0))
            }
        }
    }

    private func touchesPinned(_ boundary: Boundary) -> Bool {
        guard journal.count > 0 else { return false }
        return boundary.items.contains { $0.name.map { journal.isPinned($0.path) } ?? false }
    }

    private func apply(_ boundary: Boundary, _ outcome: inout ListenOutcome) throws {
        let known = try remoteTime
        if let known,
            boundary.readTime.microseconds
                < known.microseconds.saturatingSubtracted(by: Self.toleratedMicroseconds)
        {
            outcome.wentBack = true
            return
        }
        var rounds: [Int32: Int64] = [:]
        for item in boundary.items {
            switch item {
            case .reset(let targets):
                for target in targets.sorted() {
                    try database.execute(
                        "UPDATE client_target SET round=round+1 WHERE id=?", [.integer(Int64(target))])
                    rounds[target] = nil
                }
            case .changed(let document, let added, let removed):
                guard document.name.database == databaseName else { continue }
                let id = try take(.exists(document), at: document.name.path)
                for target in added {
                    let round = try rounds[target] ?? round(of: target)
                    rounds[target] = round
                    try database.execute(
                        "INSERT INTO client_member VALUES(?1,?2,?3) ON CONFLICT DO UPDATE SET round=?3",
                        [.integer(Int64(target)), .integer(id), .integer(round)])
                }
                if !removed.isEmpty { try leave(removed, id: id, path: document.name.path) }
            case .deleted(let name, let readTime):
                guard name.database == databaseName else { continue }
                let id = try take(.missing(readTime ?? boundary.readTime), at: name.path)
                try database.execute("DELETE FROM client_member WHERE document=?", [.integer(id)])
            case .left(let name, let removed):
                guard let row = try row(name.path) else { continue }
                try leave(removed, id: row.id, path: name.path)
            case .current(let targets):
                for target in targets.sorted() { try forgetUnnamed(target, &outcome) }
            case .count(let target, let count):
                let found = try database.first(
                    "SELECT count(*) FROM client_member WHERE target=?", [.integer(Int64(target))]
                ) { $0.int64(0) }
                if found != Int64(count) { outcome.mismatched.insert(target) }
            }
        }
        if boundary.isComplete { try confirm(until: boundary.readTime, &outcome) }
        try note(boundary)
    }

    private func note(_ boundary: Boundary) throws {
        if !boundary.resumeToken.isEmpty, !boundary.targets.isEmpty {
            let others = String(repeating: ",?", count: boundary.targets.count - 1)
            try database.execute(
                "UPDATE client_target SET token=? WHERE id IN (?\(others))",
                [.blob(boundary.resumeToken)] + boundary.targets.sorted().map { .integer(Int64($0)) })
        }
        try database.execute(
            """
            INSERT INTO client_state VALUES('read_time', ?1)
            ON CONFLICT DO UPDATE SET value=max(value, excluded.value)
            """, [.integer(boundary.readTime.microseconds)])
        if let newest = boundary.newestCommit {
            try database.execute(
                """
                INSERT INTO client_state VALUES('newest', ?1)
                ON CONFLICT DO UPDATE SET value=max(value, excluded.value)
                """, [.integer(newest.microseconds)])
        }
        try forgetMissing(until: boundary.readTime)
    }

    /// Moves a document's base unless the known version is newer. Returns the row's id.
    private func take(_ state: RemoteState, at path: String) throws -> Int64 {
        let row = try row(path)
        if let row, row.state != .unknown, row.version >= state.version {
            if row.state == .outside, case .exists = state, row.version == state.version {
                try setState(.exists, of: row.id, at: path)
            }
            return row.id
        }
        if row?.state == .missing, case .missing(let time) = state, let row {
            try database.execute(
                """
                UPDATE client_document SET version=?1, sum=row_sum(collection, name, state, fields, created, ?1) WHERE id=?2
                """, [.integer(time.microseconds), .integer(row.id)])
            return row.id
        }
        guard !journal.sequences(of: path).isEmpty else { return try store(state, at: path, row: row) }
        try moveBase(of: path, to: state)
        return try self.row(path)?.id ?? 0
    }

    private func leave(_ targets: [Int32], id: Int64, path: String) throws {
        for target in targets {
            try database.execute(
                "DELETE FROM client_member WHERE target=? AND document=?", [.integer(Int64(target)), .integer(id)])
        }
        let isKept = try database.first(
            "SELECT 1 FROM client_member WHERE document=? AND target<>?",
            [.integer(id), .integer(Int64(Self.unreportedTarget))]
        ) { _ in true }
        if isKept == nil, try row(path)?.state == .exists { try setState(.outside, of: id, at: path) }
    }

    private func setState(_ state: DocumentRow.State, of id: Int64, at path: String) throws {
        changedPaths.insert(path)
        try database.execute(
            """
            UPDATE client_document SET state=?1, sequence=?2, sum=row_sum(collection, name, ?1, fields, created, version)
            WHERE id=?3
            """,
            [.integer(state.rawValue), .integer(nextNumber()), .integer(id)])
    }

    private func round(of target: Int32) throws -> Int64 {
        try database.first("SELECT round FROM client_target WHERE id=?", [.integer(Int64(target))]) { $0.int64(0) }
            ?? 0
    }

    /// Removes the members of a target that were not named after the remote named all members. They
    /// may have been deleted or may no longer match.
    private func forgetUnnamed(_ target: Int32, _ outcome: inout ListenOutcome) throws {
        let sql = """
            SELECT d.id, d.collection, d.name FROM client_member m JOIN client_document d ON d.id=m.document
            WHERE m.target=? AND m.round<?
            """
        let round = try round(of: target)
        var gone: [(Int64, String)] = []
        try database.query(sql, [.integer(Int64(target)), .integer(round)]) { row in
            gone.append((row.int64(0), "\(row.text(1))/\(row.text(2))"))
        }
        for (id, path) in gone {
            try database.execute(
                "DELETE FROM client_member WHERE target=? AND document=?", [.integer(Int64(target)), .integer(id)])
            outcome.missing.append(try DocumentName(database: databaseName, path: path))
        }
    }

    /// Applies the response for `ListenOutcome.missing`; nil if the remote would not show the
    /// documents.
    func resolveMissing(_ names: [DocumentName], _ answer: RemoteRead?) throws -> ListenOutcome {
        let known = try remoteTime ?? Timestamp(microseconds: 0)
        // The stream will report documents that were created again since the last boundary.
        let renewed = (answer?.found ?? []).filter { $0.updateTime > known }.map(\.name)
        var items: [Boundary.Item] = []
        for document in answer?.found ?? [] where !renewed.contains(document.name) {
            items.append(.changed(document, added: [], removed: []))
        }
        for name in answer?.missing ?? [] { items.append(.deleted(name, readTime: answer?.readTime)) }
        for name in names where !renewed.contains(name) { items.append(.left(name, removed: [])) }
        return try receive(Boundary(items: items, readTime: known, resumeToken: [], targets: []))
    }

    // MARK: Documents not reported by the stream

    /// A pseudo-target that contains the documents that this replica has created or read until the
    /// stream reports them.
    ///
    /// If another client deletes such a document while there is no stream, it was never in a target
    /// for the remote, which therefore does not report the delete.
    private static let unreportedTarget: Int32 = 0

    func awaitNews(of path: String) throws {
        let parts = PathParts(path)
        try database.execute(
            """
            INSERT OR IGNORE INTO client_member SELECT ?, id, 0 FROM client_document d
            WHERE collection=? AND name=? AND state=2 AND NOT EXISTS(SELECT 1 FROM client_member WHERE document=d.id)
            """, [.integer(Int64(Self.unreportedTarget)), .text(parts.collection), .text(parts.name)])
    }

    /// Handles the fact that every target has reported all its documents up to a time.
    private func confirm(until readTime: Timestamp, _ outcome: inout ListenOutcome) throws {
        let sql = """
            SELECT d.id, d.collection, d.name, d.state=2 AND NOT EXISTS(
                SELECT 1 FROM client_member WHERE document=d.id AND target<>?1)
            FROM client_member m JOIN client_document d ON d.id=m.document WHERE m.target=?1 AND d.version<=?2
            """
        var found: [(id: Int64, path: String, isUnreported: Bool)] = []
        let values: [SQLiteValue] = [.integer(Int64(Self.unreportedTarget)), .integer(readTime.microseconds)]
        try database.query(sql, values) { row in
            found.append((row.int64(0), "\(row.text(1))/\(row.text(2))", row.bool(3)))
        }
        for (id, path, isUnreported) in found {
            if isUnreported {
                outcome.unreported.append(try DocumentName(database: databaseName, path: path))
            } else {
                try leave([Self.unreportedTarget], id: id, path: path)
            }
        }
    }

    /// Applies the response for `ListenOutcome.unreported`; nil if the remote would not show the
    /// documents. Documents that exist are in no target and are kept.
    func resolveUnreported(_ names: [DocumentName], _ answer: RemoteRead?) throws -> ListenOutcome {
        let missing = answer?.missing ?? []
        try transaction {
            for name in names where !missing.contains(name) {
                guard let id = try row(name.path)?.id else { continue }
                try database.execute(
                    "DELETE FROM client_member WHERE target=? AND document=?",
                    [.integer(Int64(Self.unreportedTarget)), .integer(id)])
            }
        }
        let items = missing.map { Boundary.Item.deleted($0, readTime: answer?.readTime) }
        let known = try remoteTime ?? Timestamp(microseconds: 0)
        return try receive(Boundary(items: items, readTime: known, resumeToken: [], targets: []))
    }

    /// Removes rows of deleted documents. They are needed until no older message about them can
    /// arrive and every consumer has acknowledged the delete.
    private func forgetMissing(until readTime: Timestamp) throws {
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

    // MARK: Targets

    /// Returns the target of a query, and creates it if necessary.
    func target(for query: Query) throws -> RemoteTarget {
        let content = TargetKey.bytes(of: query)
        return try transaction {
            let find = "SELECT id, token FROM client_target WHERE query=?"
            if let known = try database.first(
                find, [.blob(content)],
                { RemoteTarget(id: Int32(truncatingIfNeeded: $0.int64(0)), query: query, resumeToken: $0.bytes(1)) })
            {
                return known
            }
            try database.execute(
                "INSERT INTO client_target(query, token, round) VALUES(?, x'', 0)", [.blob(content)])
            return RemoteTarget(id: Int32(truncatingIfNeeded: database.lastInsertedRowID), query: query)
        }
    }

    /// Removes a query's target, and the documents that no other target contains.
    func forget(_ query: Query) throws {
        try transaction {
            let target = try target(for: query).id
            var members: [(Int64, String)] = []
            let sql = """
                SELECT d.id, d.collection, d.name FROM client_member m JOIN client_document d ON d.id=m.document
                WHERE m.target=?
                """
            try database.query(sql, [.integer(Int64(target))]) { row in
                members.append((row.int64(0), "\(row.text(1))/\(row.text(2))"))
            }
            for (id, path) in members { try leave([target], id: id, path: path) }
            try database.execute("DELETE FROM client_target WHERE id=?", [.integer(Int64(target))])
        }
    }

    /// Removes the tokens of targets, so that the next stream starts them from the beginning.
    func forgetTokens(of targets: Set<Int32>) throws {
        try transaction {
            for target in targets {
                try database.execute("UPDATE client_target SET token=x'' WHERE id=?", [.integer(Int64(target))])
            }
        }
    }
}
