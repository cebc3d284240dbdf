import SQLite

/// A field that is not indexed by itself, and nothing within it: one that is large, or whose keys are names that each document
/// makes up, and that nobody looks for. (Production calls this a single-field index exemption.)
///
/// Queries answer the same with and without, but read the whole collection where only such a field would narrow them down.
/// Composite indexes still take it.
package struct IndexExemption: Sendable, Hashable {
    /// The id of the collections that it holds for, wherever they are.
    package let collectionID: String
    /// A field of the document itself.
    package let field: String

    package init(collectionID: String, field: String) {
        self.collectionID = collectionID
        self.field = field
    }
}

extension IndexExemption {
    /// Makes these the exemptions of a database. Where that changes a collection's, its index is made anew, in one transaction.
    static func set(_ wanted: Set<IndexExemption>, in tables: DocumentTables) throws {
        let sqlite = tables.sqlite
        let stored = try tables.exemptions()
        guard wanted != stored else { return }
        try sqlite.transaction {
            try sqlite.execute("DELETE FROM exemption")
            for exemption in wanted {
                try sqlite.execute(
                    "INSERT INTO exemption(collection, field) VALUES(?,?)",
                    [.text(exemption.collectionID), .text(exemption.field)])
            }
            tables.forgetNumbers()
            for id in Set(wanted.symmetricDifference(stored).map(\.collectionID)) {
                var collections: [Int64] = []
                try sqlite.query("SELECT collection FROM collection WHERE name=?", [.blob(Array(id.utf8))]) { row in
                    collections.append(row.int64(0))
                }
                for collection in collections { try IndexRecovery.rebuild(collection, in: tables) }
            }
        }
    }
}
