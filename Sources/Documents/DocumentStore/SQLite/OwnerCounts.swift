import DocumentModel
import FirestoreProtocol
import SQLite

/// The number of documents that each user owns, stored in the table `usage` by the transactions
/// that change it.
///
/// The changes of a transaction are collected in memory and written once at its end. Used on the
/// writer's thread only.
struct OwnerCounts {
    private let tables: DocumentTables
    private var sqlite: SQLiteDatabase { tables.sqlite }
    private var counts: [String: Int64] = [:]
    private var changed = Set<String>()

    /// The maximum number of users whose counts are cached.
    private static let cacheLimit = 10_000

    init(_ tables: DocumentTables) { self.tables = tables }

    mutating func count(of owner: String) throws -> Int64 {
        if let known = counts[owner] { return known }
        let count = try tables.documentCount(of: owner)
        counts[owner] = count
        return count
    }

    /// Counts the effect of a commit on the document with this number.
    ///
    /// - Parameter fields: returns the fields of a document after the commit.
    mutating func add(
        _ effect: CommitEffects.Effect, document: Int64, fields: (DocumentName) throws -> [String: Value]?
    ) throws {
        let transfer = try DocumentOwner.transfer(
            effect, inherited: { try inheritedOwner(of: document) }, fields: fields)
        guard let transfer else { return }
        try change(transfer.from, by: -1)
        try change(transfer.to, by: 1)
        guard transfer.wasInherited != transfer.isInherited else { return }
        if let heir = transfer.isInherited {
            try sqlite.execute("INSERT OR REPLACE INTO inherited VALUES(?,?)", [.integer(document), .text(heir)])
        } else {
            try sqlite.execute("DELETE FROM inherited WHERE document=?", [.integer(document)])
        }
    }

    private mutating func change(_ owner: String?, by difference: Int64) throws {
        guard let owner else { return }
        counts[owner] = max(0, try count(of: owner) + difference)
        changed.insert(owner)
    }

    private func inheritedOwner(of document: Int64) throws -> String? {
        try sqlite.first("SELECT owner FROM inherited WHERE document=?", [.integer(document)]) { $0.text(0) }
    }

    /// Writes the changed counts, inside the transaction.
    mutating func store() throws {
        for owner in changed {
            try sqlite.execute(
                "INSERT INTO usage VALUES(?1,?2) ON CONFLICT(owner) DO UPDATE SET documents=?2",
                [.text(owner), .integer(counts[owner] ?? 0)])
        }
        changed = []
        if counts.count > Self.cacheLimit { counts = [:] }
    }

    /// Discards the changes of a transaction that was rolled back.
    mutating func forget() {
        counts = [:]
        changed = []
    }

    // MARK: Upgrade

    /// Counts all documents of a file that has no counts yet.
    static func countAll(in sqlite: SQLiteDatabase) throws {
        var counts: [String: Int64] = [:]
        var unnamed: [(document: Int64, top: [Substring])] = []
        try sqlite.query(
            "SELECT d.document, d.fields, c.path FROM document d JOIN collection c USING(collection)"
        ) { row in
            let fields = try? EncodedFields(bytes: row.bytes(1)).decoded()
            if let owner = DocumentOwner.named(by: fields) {
                counts[owner, default: 0] += 1
            } else if let path = row.withBytes(2, { KeyBytes.decodePath($0) }) {
                let segments = path.split(separator: "/")
                if segments.count > 2 { unnamed.append((row.int64(0), Array(segments.prefix(2)))) }
            }
        }
        for (document, top) in unnamed {
            let bytes = try sqlite.first(
                "SELECT fields FROM document JOIN collection USING(collection) WHERE path=? AND id=?",
                [.blob(KeyBytes.path(String(top[0]))), .blob(Array(top[1].utf8))]
            ) { $0.bytes(0) }
            guard let bytes, let owner = DocumentOwner.named(by: try? EncodedFields(bytes: bytes).decoded()) else {
                continue
            }
            counts[owner, default: 0] += 1
            try sqlite.execute("INSERT INTO inherited VALUES(?,?)", [.integer(document), .text(owner)])
        }
        for (owner, count) in counts {
            try sqlite.execute("INSERT INTO usage VALUES(?,?)", [.text(owner), .integer(count)])
        }
    }
}
