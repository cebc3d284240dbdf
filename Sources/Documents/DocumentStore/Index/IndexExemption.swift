import SQLite

/// A field that has no index entries of its own, nor have the fields within it. Meant for fields
/// that are large, or whose keys are different in each document, and that are not searched for.
/// Production calls this a single-field index exemption.
///
/// Queries return the same results, but read the whole collection if only such a field would
/// restrict them. Composite indexes still contain the field.
package struct IndexExemption: Sendable, Hashable {
    /// The id of the collections to which the exemption applies, wherever they are.
    package let collectionID: String
    /// A field of the document itself.
    package let field: String

    package init(collectionID: String, field: String) {
        self.collectionID = collectionID
        self.field = field
    }
}

extension IndexExemption {
    /// Sets the exemptions of a database. If they change for a collection, its index is rebuilt in
    /// one transaction.
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
