import DocumentModel
import FirestoreProtocol
import SQLite

/// The targets that a replica watches, and the documents that each contains.
struct TargetTable {
    let database: SQLiteDatabase

    // MARK: Targets

    /// Returns the target of a query, and creates it if necessary.
    func target(for query: Query) throws -> RemoteTarget {
        let content = TargetKey.bytes(of: query)
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

    /// Deletes a target.
    func delete(_ target: Int32) throws {
        try database.execute("DELETE FROM client_target WHERE id=?", [.integer(Int64(target))])
    }

    /// Records from where the next stream continues the targets; an empty token means from the beginning.
    func setToken(_ token: [UInt8], of targets: Set<Int32>) throws {
        guard !targets.isEmpty else { return }
        let others = String(repeating: ",?", count: targets.count - 1)
        try database.execute(
            "UPDATE client_target SET token=? WHERE id IN (?\(others))",
            [.blob(token)] + targets.sorted().map { .integer(Int64($0)) })
    }

    /// Begins a new round, in which the remote names all members of a target again.
    func restart(_ target: Int32) throws {
        try database.execute("UPDATE client_target SET round=round+1 WHERE id=?", [.integer(Int64(target))])
    }

    /// The number of the target's present round.
    func round(of target: Int32) throws -> Int64 {
        try database.first("SELECT round FROM client_target WHERE id=?", [.integer(Int64(target))]) { $0.int64(0) }
            ?? 0
    }

    // MARK: Members

    /// Adds a document to a target, or notes that it was named in this round too.
    func insert(_ id: Int64, into target: Int32, round: Int64) throws {
        try database.execute(
            "INSERT INTO client_member VALUES(?1,?2,?3) ON CONFLICT DO UPDATE SET round=?3",
            [.integer(Int64(target)), .integer(id), .integer(round)])
    }

    /// Removes a document from a target.
    func remove(_ id: Int64, from target: Int32) throws {
        try database.execute(
            "DELETE FROM client_member WHERE target=? AND document=?", [.integer(Int64(target)), .integer(id)])
    }

    /// Removes a document from all targets.
    func remove(_ id: Int64) throws {
        try database.execute("DELETE FROM client_member WHERE document=?", [.integer(id)])
    }

    /// Whether a target other than `unreported` contains the document.
    func contain(_ id: Int64) throws -> Bool {
        try database.first(
            "SELECT 1 FROM client_member WHERE document=? AND target<>?",
            [.integer(id), .integer(Int64(Self.unreported))]
        ) { _ in true } != nil
    }

    /// The number of documents in a target.
    func count(of target: Int32) throws -> Int64? {
        try database.first("SELECT count(*) FROM client_member WHERE target=?", [.integer(Int64(target))]) {
            $0.int64(0)
        }
    }

    /// The documents in a target.
    func members(of target: Int32) throws -> [(id: Int64, path: String)] {
        let sql = """
            SELECT d.id, d.collection, d.name FROM client_member m JOIN client_document d ON d.id=m.document
            WHERE m.target=?
            """
        return try documents(sql, [.integer(Int64(target))])
    }

    /// Removes the members of a target that were not named after the remote named all members, and
    /// returns their paths. They may have been deleted or may no longer match.
    func removeUnnamed(_ target: Int32) throws -> [String] {
        let sql = """
            SELECT d.id, d.collection, d.name FROM client_member m JOIN client_document d ON d.id=m.document
            WHERE m.target=? AND m.round<?
            """
        let gone = try documents(sql, [.integer(Int64(target)), .integer(try round(of: target))])
        for (id, _) in gone { try remove(id, from: target) }
        return gone.map(\.path)
    }

    private func documents(_ sql: String, _ values: [SQLiteValue]) throws -> [(id: Int64, path: String)] {
        var found: [(id: Int64, path: String)] = []
        try database.query(sql, values) { row in
            found.append((row.int64(0), "\(row.text(1))/\(row.text(2))"))
        }
        return found
    }

    // MARK: Documents not reported by the stream

    /// A pseudo-target that contains the documents that this replica has created or read until the
    /// stream reports them.
    ///
    /// If another client deletes such a document while there is no stream, it was never in a target
    /// for the remote, which therefore does not report the delete.
    static let unreported: Int32 = 0

    /// Adds a document that exists and is in no target to `unreported`.
    func awaitNews(of path: String) throws {
        let parts = PathParts(path)
        try database.execute(
            """
            INSERT OR IGNORE INTO client_member SELECT ?, id, 0 FROM client_document d
            WHERE collection=? AND name=? AND state=2 AND NOT EXISTS(SELECT 1 FROM client_member WHERE document=d.id)
            """, [.integer(Int64(Self.unreported)), .text(parts.collection), .text(parts.name)])
    }

    /// The documents of `unreported` that every target has had the occasion to report, and whether none contains them.
    func awaited(until readTime: Timestamp) throws -> [(id: Int64, path: String, isUnreported: Bool)] {
        let sql = """
            SELECT d.id, d.collection, d.name, d.state=2 AND NOT EXISTS(
                SELECT 1 FROM client_member WHERE document=d.id AND target<>?1)
            FROM client_member m JOIN client_document d ON d.id=m.document WHERE m.target=?1 AND d.version<=?2
            """
        var found: [(id: Int64, path: String, isUnreported: Bool)] = []
        let values: [SQLiteValue] = [.integer(Int64(Self.unreported)), .integer(readTime.microseconds)]
        try database.query(sql, values) { row in
            found.append((row.int64(0), "\(row.text(1))/\(row.text(2))", row.bool(3)))
        }
        return found
    }
}
