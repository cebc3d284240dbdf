import FirestoreProtocol
import SQLite

/// The columns that the checksum of a row covers, in the order in which they are summed.
///
/// A flipped bit in a row is detected when the row is read. The row then counts as damaged, see
/// `DamageHandling`.
enum RowSum {
    static let document = "collection, id, create_time, update_time, fields"
    static let change = "time, collection, id, create_time, update_time, fields"

    /// Adds checksums to a database that was created without them. Rows that cannot be decoded get
    /// none.
    static func addAll(in sqlite: SQLiteDatabase) throws {
        for (table, columns) in [("document", document), ("change", change)] {
            try sqlite.executeScript("ALTER TABLE \(table) ADD COLUMN sum INTEGER")
            try sqlite.executeScript("UPDATE \(table) SET sum=row_sum(\(columns))")
            var undecodable: [Int64] = []
            try sqlite.query("SELECT rowid, fields FROM \(table) WHERE fields IS NOT NULL") { row in
                if (try? EncodedFields(bytes: row.bytes(1)).decoded()) == nil { undecodable.append(row.int64(0)) }
            }
            for row in undecodable {
                try sqlite.execute("UPDATE \(table) SET sum=NULL WHERE rowid=?", [.integer(row)])
            }
        }
    }
}
